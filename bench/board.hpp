// SPDX-License-Identifier: MIT
// board.hpp - what the board says of its clocks and its temperature, in files of sysfs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace clam::bench {

/// What the board does not show has no value.
struct BoardState {
  std::optional<double> gpu_mhz, gpu_min_mhz, gpu_max_mhz, memory_mhz, gpu_celsius;
  std::optional<std::string> gpu_governor, cpu_governor;
};
nlohmann::json to_json(const BoardState& state);

/// Finds the files once. Nothing here throws: a file that cannot be read shows nothing.
class Board {
 public:
  /// `root`: where sys/ lies.
  explicit Board(const std::string& root = "/");

  BoardState state() const;
  /// One file: cheap enough for each row.
  std::optional<double> gpu_mhz() const;

 private:
  std::string gpu_, memory_;           ///< devfreq folders; empty: none
  std::vector<std::string> thermals_;  ///< thermal zones of the GPU
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

}  // namespace clam::bench
