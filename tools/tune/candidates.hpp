// SPDX-License-Identifier: MIT
// candidates.hpp - the ways to compute a problem that a search may measure, as data.
#pragma once

#include <string>
#include <vector>

#include "clam/op.hpp"

namespace clam::tune {

/// A variant, and where it has tiles, one of them. Dtype and accumulator are the problem's.
struct Candidate {
  std::string variant;
  std::string tile{};  ///< words of its Tiling; empty where the variant has none
  double clocks = 0;   ///< of a call, as predicted; 0: no prediction

  std::string words() const;    ///< "dense_packed M0=4,N0=8"
  PlanOptions options() const;  ///< what plans it, whatever was measured before
  bool is(const Candidate& other) const { return variant == other.variant && tile == other.tile; }
};

/// A candidate, or what cannot be one.
struct Listed : Candidate {
  Reason refused;
};

/// Every tile of every variant of the problem's op. What can be had comes first, as `candidates`
/// has it.
std::vector<Listed> list_candidates(const Problem& problem, const DeviceInfo& device);

/// Those that can be had: the model's own choice, then by predicted clocks; those without a
/// prediction last. Throws Unsupported where there is none.
std::vector<Candidate> candidates(const Problem& problem, const DeviceInfo& device);

}  // namespace clam::tune
