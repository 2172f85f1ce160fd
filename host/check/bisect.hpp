// SPDX-License-Identifier: MIT
// bisect.hpp - which node of a graph is wrong, whether it is so every time, and in what else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph_run.hpp"

namespace clam {

/// The problem of the wrong node alone, in one dtype by one variant.
struct Attempt {
  enum class Outcome { right, wrong, refused };
  Dtype dtype = Dtype::f32;
  std::string variant;
  Outcome outcome = Outcome::refused;
  std::string reason = {};  ///< why wrong, or why it cannot be tried
  double worst_ratio = 0;   ///< largest error over its bound; of what was tried
};
const char* name(Attempt::Outcome outcome);

/// The first node of a run that is wrong though its inputs are right, looked at alone.
struct Culprit {
  std::string node, problem, variant;
  std::string reason;    ///< what was wrong in the graph's run
  Tensors inputs;        ///< those that it was run alone on
  bool chained = false;  ///< found on what the device had made before
  int runs = 0;
  int wrong = 0;     ///< of these runs
  int distinct = 0;  ///< results that differ in a bit
  std::vector<Attempt> attempts = {};
  std::vector<std::string> also = {};  ///< nodes behind it that are wrong on right inputs too

  bool deterministic() const { return distinct == 1; }
  /// The verdict, in one sentence.
  std::string sentence() const;
};

/// Looks for the wrong node in the results of a run, and runs it alone. It runs `runs` times as it
/// was, and once in f32 and in f16 by each variant. Nothing if every node is right.
std::optional<Culprit> find_culprit(Runtime& runtime, const Graph& graph, const GraphRun& run,
                                    int runs = 20);

}  // namespace clam
