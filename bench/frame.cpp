// SPDX-License-Identifier: MIT
#include "frame.hpp"

#include <utility>

namespace clam::bench {

Frame::Frame(Runtime& runtime, std::function<void(Peaks&)> measure,
             const std::optional<Limits>& given)
    : runtime_(runtime),
      measure_(std::move(measure)),
      given_(given.has_value()),
      limits_(given.value_or(Limits{})) {}

void Frame::open(Table& table) {
  if (given_) return;
  measure_(around_.peaks);
  limits_ = limits_of(around_.peaks);
  table.peaks(around_.peaks);
  around_.before = board_.state();
}

void Frame::look_again() {
  measure_(around_.peaks);
  limits_ = larger_of(limits_, limits_of(around_.peaks));
}

void Frame::close(Table& table) {
  if (given_) return;
  around_.after = board_.state();
  if (runtime_.tainted()) return;
  look_again();
  table.peaks_again(around_.peaks);
}

void Frame::watch(MeterOptions& how) {
  how.clock = &clock_;
  how.limits = &limits_;
  how.look_again = [this] { look_again(); };
}

}  // namespace clam::bench
