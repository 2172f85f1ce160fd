// SPDX-License-Identifier: MIT
// work.hpp - condition 5: whether the time of a row follows its work, held against the noise of the
// same moment. Data in, finding out: it reads no clock and asks no device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "peaks.hpp"

namespace clam::bench {

/// What one batch says of time and work.
struct Span {
  std::int64_t iterations = 0, launches = 0;  ///< of the whole batch
  double events_us = 0, wall_us = 0, host_us = 0;
  double empty_us = 0;  ///< wall time of as many empty launches just before it; 0: not measured
};

enum class Finding { agrees, too_short, wrong };

struct WorkFinding {
  Finding finding = Finding::agrees;
  std::string reason = {};  ///< of `wrong`: one sentence
};

/// Three things are asked of the batches:
/// - Fit: the events of a batch add up to no more than the host waited, by 5 %.
/// - Cover: the host waited no longer than twice the events, what launches and waits cost, and the
///   host's own work.
/// - Follow: the best times of the larger of two sizes, by events and by wall, are sqrt(m) times
///   those of the smaller, for m times as many iterations. That is halfway, as factors go, between
///   what it should be and no difference at all. The samples must show it beyond chance.
///
/// Other load makes single batches slow, never all of them fast. So the best batch speaks of a
/// size. Fit and cover are asked of `share` of the batches: a third, or 0 for the best batch alone
/// on a CPU that other programs use, or may use.
///
/// A row is wrong where an answer is beyond the noise: empty launches, run in turns with batches of
/// the row, say what launches and waits cost at that moment. A row whose batches neither agree nor
/// are wrong is too short to judge.
WorkFinding judge_work(const std::vector<Span>& spans, const Limits& limits, double share = 0);

/// How more batches of a row are had.
struct Batches {
  std::int64_t smaller = 1;  ///< iterations of the smaller batch of the rounds
  double seconds = 0;        ///< of device time that the row has
  std::function<Span(std::int64_t iterations)> run;
  std::function<double(std::int64_t launches)> run_empty;  ///< returns the wall time in us
};

/// The finding from the batches of the rounds, and where these do not agree, from larger ones too:
/// 6 times as large and 36 times as large. Where that leaves it open, both sizes grow until the
/// larger one takes as long as the row has. Appends the batches.
WorkFinding settle_work(std::vector<Span>& spans, const Batches& batches, const Limits& limits,
                        double share);

}  // namespace clam::bench
