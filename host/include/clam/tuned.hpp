// SPDX-License-Identifier: MIT
// tuned.hpp - measured choices: rows, the tables that hold them, and which rows are near a problem.
// kernels/tuned/README.md describes the format of a table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"
#include "kernels.hpp"
#include "plan.hpp"
#include "problem.hpp"

namespace clam {

/// The fastest choice for a problem on a board.
struct TunedRow {
  std::string gpu;  ///< "g610"; if clam does not know the device as a Mali, its name
  std::int64_t cores = 1;
  std::string driver;          ///< driver_family()
  std::string driver_version;  ///< of the driver, and so of its compiler
  std::string kernels;         ///< kernels_hash()
  std::string problem, variant;
  std::string tile;    ///< words of a Tiling; empty where the variant has none
  double us = 0;       ///< median
  double share = 0;    ///< of the peak, 0 to 1; 0: not known
  std::string date{};  ///< "2026-11-27"
};

/// After how many launches a flush of the queue costs the least on a board.
struct TunedFlush {
  std::string gpu, driver, driver_version;  ///< as those of a TunedRow
  int launches_a_flush = 0;                 ///< of RuntimeOptions
  double us = 0;                            ///< median of a launch, if flushed so
  std::string date{};
  static constexpr int kWhenWaiting = -1;
};

/// What a table holds.
struct TunedTable {
  std::vector<TunedRow> rows;
  std::vector<TunedFlush> launches{};
};

/// "arm", "mesa", "pocl", "oclgrind" or "nvidia"; else the name of the device's platform.
std::string driver_family(const DeviceInfo& device);
/// The hashes of the kernel files that a call launches, joined by +, as clam-bench writes them. If
/// a replaced kernel has a file of options, they are hashed with it.
std::string kernels_hash(const Plan& plan, const KernelFiles& files);
/// The row of a plan, with all that is known before it is measured.
TunedRow tuned_row(const Plan& plan, const std::string& tile, const KernelFiles& files);

TunedFlush tuned_flush(const DeviceInfo& device, int launches_a_flush, double us);

nlohmann::json to_json(const TunedTable& table);
/// Throws BadArgument for JSON that is no table, or that of a newer clam. A row that cannot be used
/// is left out, and `left_out` gets a sentence that says why. If `left_out` is null, that sentence
/// is thrown as a BadArgument.
TunedTable tuned_from_json(const nlohmann::json& json,
                           std::vector<std::string>* left_out = nullptr);

/// A row whose problem has the same words, except for extents and shapes.
struct TunedMatch {
  const TunedRow* row;
  const std::string* table;
  /// The sum of |log2(a / b)| over the extents and the cores. 0: the row is exact.
  double distance;
};

/// Rows, by problem. Threads may share one that no longer changes.
class Tuned {
 public:
  /// A row farther away says nothing about a problem: a factor of two in all.
  static constexpr double kFarthest = 1;

  /// No rows, so the model chooses. Rows that are added apply if their kernels are those of
  /// `files`.
  explicit Tuned(KernelFiles files = {}) : files_(std::move(files)) {}

  /// The rows of kernels/tuned.
  static std::shared_ptr<const Tuned> built_in(const KernelFiles& files = {});
  /// The same, and those of the .json files of a folder.
  static std::shared_ptr<const Tuned> with_folder(const std::string& dir,
                                                  const KernelFiles& files = {});
  /// The same with CLAM_TUNED_DIR, where it is set.
  static std::shared_ptr<const Tuned> from_environment(
      const KernelFiles& files = KernelFiles::from_environment());

  /// Adds the rows of a table's text. What cannot be used becomes a note.
  void add(const std::string& text, const std::string& table);

  const KernelFiles& files() const { return files_; }
  bool empty() const { return rows_.empty(); }
  /// A sentence for each table that is not used, or not as a whole.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The rows of the device's GPU and driver, with any kernels.
  std::vector<const TunedRow*> of(const DeviceInfo& device) const;
  /// Of these, the ones with the problem's words, the nearest first. Among equals, those of the
  /// device's driver version come first, then the newest, then the one that was added last.
  std::vector<TunedMatch> matches(const Problem& problem, const DeviceInfo& device) const;
  /// The entry of the device's GPU and driver that was added last. One of its driver version takes
  /// precedence. Null: not measured.
  const TunedFlush* flush_of(const DeviceInfo& device) const;
  /// Whether all kernel files of the row are today's.
  bool is_of_today(const TunedRow& row) const;

 private:
  struct Entry {
    TunedRow row;
    std::vector<std::int64_t> extents;
    std::string table;
  };
  KernelFiles files_;
  std::set<std::string> today_;  ///< hashes of the kernel files, where there are rows
  std::map<std::string, std::vector<Entry>> rows_;  ///< by op and words, without the extents
  std::vector<TunedFlush> launches_;
  std::vector<std::string> notes_;
};

}  // namespace clam
