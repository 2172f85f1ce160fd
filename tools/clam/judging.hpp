// SPDX-License-Identifier: MIT
// judging.hpp - a bundle put before several drivers, and what comes of it written into the bundle.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bundle/proof.hpp"
#include "drivers.hpp"

namespace clam::cli {

struct Judged {
  std::vector<Answer> answers;
  Judgement judgement;
  bool has_recorded = false;  ///< the first answer is what was given where it was recorded
};

/// Told before each driver is asked; what it throws ends the asking.
using OnDriver = std::function<void(const Driver&)>;

/// Asks the drivers in turn. `folder`: where the bundle's files lie. `reference`: outputs that are
/// right whatever they say, dense. Throws BadArgument for a bundle that runs nothing.
Judged put_before(const std::vector<Driver>& drivers, const Bundle& bundle,
                  const std::string& folder, const Tensors& reference, int limit_s,
                  const OnDriver& on_driver = {});

/// Asks further drivers, and judges anew.
void ask_more(const std::vector<Driver>& drivers, const Bundle& bundle, const std::string& folder,
              const Tensors& reference, int limit_s, Judged& judged,
              const OnDriver& on_driver = {});

/// The bundle with what was decided as its expectation, and what was given where it was recorded.
Bundle with_verdict(const Bundle& bundle, const Judged& judged);

/// The proof that the answers are, of the files in `folder`.
Proof proof_of(const Bundle& bundle, const Judged& judged, const std::string& folder);

}  // namespace clam::cli
