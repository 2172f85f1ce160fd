// SPDX-License-Identifier: MIT
// judge.hpp - what is right in a case that has no reference: what several drivers agree upon.
#pragma once

#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "check/op_proof.hpp"

namespace clam {

/// What a driver makes of a case: as it is, and with nudged inputs.
struct Answer {
  DeviceInfo device;
  Reason cannot;              ///< why it cannot be asked; then there is nothing else
  Seen seen;                  ///< how it ended; not right: a crash, an error, a write outside
  std::vector<Tensors> runs;  ///< its outputs, dense: of the case, then with inputs nudged
  bool is_simulator = false;
  bool is_recorded = false;         ///< of where the case was recorded: nobody was asked
  std::vector<std::string> report;  ///< what the simulator reports of the kernel

  bool has_outputs() const { return !cannot && seen.right() && !runs.empty() && !runs[0].empty(); }
};

/// The case with about half of its real inputs one step of their dtype farther from zero: which
/// ones, `turn` says. Whole numbers stay: many are indices or classes, and sums of them are exact.
Bundle nudged(const Bundle& bundle, int turn);

/// How far right answers may be apart, for each element of each output, as a bound of a bundle. It
/// is `kRoundings` times the largest of: what nudged inputs change (the lower median of the
/// drivers), half a step of the element, half a step of the tensor's median. An element that no
/// driver touched must stay as it was. One that a nudge makes another whole number, or infinite,
/// is not held: inf.
Tensors tolerances(const Bundle& bundle, const std::vector<Answer>& answers);
constexpr double kRoundings = 32;
/// Where the kernel asks for less accuracy: native_ and half_ functions, -cl-fast-relaxed-math,
/// -cl-unsafe-math-optimizations.
constexpr double kRoundingsOfNative = 512;

struct Judgement {
  bool decided = false;
  /// By answer: how it is held against the expectation. Where nothing is decided, against the
  /// first answer.
  std::vector<Seen> seen;
  Tensors expected, bounds;  ///< as a bundle has them
  std::string basis;  ///< a sentence or two: what the expectation rests on, or why there is none
};

/// The values that most drivers agree upon, within the tolerances: of at least two platforms, and
/// of more than agree upon any other. Devices of one platform have one voice. `reference`: outputs
/// that are right whatever drivers say, dense; those that it has not are not held then.
Judgement judge(const Bundle& bundle, const std::vector<Answer>& answers,
                const Tensors& reference = {});

}  // namespace clam
