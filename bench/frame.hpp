// SPDX-License-Identifier: MIT
// frame.hpp - what is measured around the rows, and what their conditions take of it.
#pragma once

#include <functional>
#include <optional>

#include "board.hpp"
#include "limits.hpp"
#include "measure.hpp"
#include "surroundings.hpp"
#include "table.hpp"

namespace clam::bench {

class Frame {
 public:
  /// `measure` measures the peaks, or some again and keeps what is larger. Where limits are given,
  /// nothing is measured unless a row seems to exceed them.
  Frame(Runtime& runtime, std::function<void(Peaks&)> measure, const std::optional<Limits>& given);

  /// Before the rows, and after the last of them.
  void open(Table& table);
  void close(Table& table);

  void watch(MeterOptions& how);
  const Limits& limits() const { return limits_; }
  const Surroundings& around() const { return around_; }

 private:
  void look_again();

  Runtime& runtime_;
  std::function<void(Peaks&)> measure_;
  bool given_;
  Limits limits_;
  Surroundings around_;
  Board board_;
  ClockWatch clock_{board_};
};

}  // namespace clam::bench
