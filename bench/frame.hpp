// SPDX-License-Identifier: MIT
// frame.hpp - what is measured around the rows, and what their conditions take of it.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "document.hpp"
#include "machine/board.hpp"
#include "measure.hpp"
#include "peaks.hpp"
#include "table.hpp"

namespace clam::bench {

class Frame {
 public:
  /// `measure` measures the peaks, or some again and keeps what is larger. Where limits are given,
  /// nothing is measured unless a row seems to exceed them.
  Frame(Runtime& runtime, std::function<void(Peaks&)> measure, const std::optional<Limits>& given)
      : runtime_(runtime),
        measure_(std::move(measure)),
        given_(given.has_value()),
        limits_(given.value_or(Limits{})) {}

  /// Before the rows.
  void open(Table& table) {
    if (given_) return;
    for (const std::string& line : board_.unpinned()) {
      table.say(line +
                ": times may be longer than they need be; hold the clocks: tools/bench --pin");
    }
    measure_(around_.peaks);
    limits_ = limits_of(around_.peaks);
    table.peaks(around_.peaks);
    around_.before = board_.state();
  }

  /// After the last of them.
  void close(Table& table) {
    if (given_) return;
    around_.after = board_.state();
    if (runtime_.tainted()) return;
    look_again();
    table.peaks_again(around_.peaks);
  }

  void watch(MeterOptions& how) {
    how.clock = &clock_;
    how.limits = &limits_;
    how.look_again = [this] { look_again(); };
  }

  const Limits& limits() const { return limits_; }
  const Surroundings& around() const { return around_; }
  const Board& board() const { return board_; }

 private:
  void look_again() {
    measure_(around_.peaks);
    limits_ = larger_of(limits_, limits_of(around_.peaks));
  }

  Runtime& runtime_;
  std::function<void(Peaks&)> measure_;
  bool given_;
  Limits limits_;
  Surroundings around_;
  Board board_;
  ClockWatch clock_{board_};
};

}  // namespace clam::bench
