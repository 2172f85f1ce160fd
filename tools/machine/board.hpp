// SPDX-License-Identifier: MIT
// board.hpp - what the board says of its clocks and its temperature, in files of sysfs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"

namespace clam {

/// A file of sysfs and what to write there.
struct Setting {
  std::string file, value;
};

/// A part of the board whose clock a governor moves.
struct ClockDomain {
  enum class Part { gpu, memory, cpu };
  Part part;
  std::string name;      ///< "the GPU", "the memory", "the CPU's policy4"
  std::string governor;  ///< "simple_ondemand"; empty where there is none
  std::optional<double> mhz, lowest_mhz, top_mhz;
  bool pinned = false;        ///< it stays at its top
  std::vector<Setting> pins;  ///< what holds it there

  /// "the GPU's governor is simple_ondemand, at 300 of 1000 MHz"
  std::string text() const;
};

/// Finds the files once.
class Board {
 public:
  explicit Board(Machine machine = Machine());

  /// The GPU first, then memory, then CPU.
  std::vector<ClockDomain> domains() const;
  /// Of a board with a GPU's clock: a sentence for each domain that may move.
  std::vector<std::string> unpinned() const;
  /// Clocks, governors and temperature for JSON, without what the board does not show.
  nlohmann::json state() const;
  /// One file: cheap enough for each row.
  std::optional<double> gpu_mhz() const;
  std::optional<double> gpu_celsius() const;

 private:
  /// Where a clock is shown, and in which unit.
  struct Place {
    std::string folder;
    double unit = 1e6;
  };
  ClockDomain devfreq(const Place& place, ClockDomain::Part part, const std::string& name) const;
  ClockDomain policy(const std::string& folder) const;

  Machine machine_;
  std::optional<Place> gpu_, memory_;
  std::vector<std::string> policies_;  ///< cpufreq, a folder each
};

/// Watches the GPU's clock around each row.
class ClockWatch {
 public:
  explicit ClockWatch(const Board& board) : board_(board) {}

  void before() { before_ = board_.gpu_mhz(); }
  /// How far the clock is now from the one before, or from the first row's where that is farther:
  /// 0.05 is 5 %. 0 where the board does not show it.
  double moved() { return moved_to(board_.gpu_mhz()); }
  /// The same of a clock that another process saw.
  double moved_to(const std::optional<double>& now);
  /// The clock that was asked about last.
  std::optional<double> last() const { return last_; }

 private:
  const Board& board_;
  std::optional<double> first_, before_, last_;
};

constexpr const char* kClockMoved = "clock moved";

/// "clock moved 5.2 %" of a row whose clock moved over 3 %; else nothing.
std::optional<std::string> clock_mark(double moved);

}  // namespace clam
