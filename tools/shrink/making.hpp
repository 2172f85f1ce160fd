// SPDX-License-Identifier: MIT
// making.hpp - a case of a problem of clam's, made again in another size and with other inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "shrinking.hpp"

namespace clam {

/// Puts into a case what its outputs must be with these inputs of the problem. Throws Unsupported
/// where it is ended before it knows.
using Expecting = std::function<void(const Problem& problem, const Tensors& inputs,
                                     const ReferenceOptions& options, Bundle& bundle)>;
/// By the reference, in this process, however long that takes.
void expect_here(const Problem& problem, const Tensors& inputs, const ReferenceOptions& options,
                 Bundle& bundle);

/// How such a case was made.
struct Making {
  Making(Problem problem, Expecting expecting)
      : problem(std::move(problem)), expecting(std::move(expecting)) {}

  Problem problem;
  Expecting expecting;
  std::string variant, data_set;
  std::uint64_t seed = 1;
  int max_work_group = 0;
  DeviceInfo device;    ///< that it was planned for
  DeviceInfo recorded;  ///< that it was run on, as the reference must know it
  /// By kernel file: build options after the plan's own.
  std::map<std::string, std::string> more_options;
  /// Inputs that are not of the data set, dense. What is one value throughout has any shape.
  Tensors given;

  /// Whether only cases are taken whose files are built with the same options.
  bool keeps_options = false;

  /// Whether the case made again has the same builds as `like`.
  bool same_builds(const Bundle& like) const;
  /// Whether the variant takes the problem, with the kernel files of `like`.
  bool has_plan(const Bundle& like) const;
  /// Throws BadArgument for inputs that the problem gives no result for.
  Tensors inputs() const;
  /// `like` made again. Throws BadArgument and Unsupported where there is no such case.
  Bundle bundle(const Bundle& like) const;
  /// `like` with other inputs alone, and what is then expected of the outputs that it looks at.
  Bundle with_inputs(const Bundle& like) const;
};

/// The problem of clam's that a case is of, if it is of one.
std::optional<Problem> problem_of(const Bundle& bundle);

/// Nothing, and why in `why_not`, where the case is none of a problem, or its plan or what is
/// expected are not what this clam makes of it.
std::optional<Making> making_of(const Bundle& bundle, std::string& why_not,
                                const Expecting& expecting = expect_here);

/// Whether `holds`; false where there is no such problem, plan or input, or no time for what is
/// right.
template <typename Holds>
bool if_possible(const Holds& holds) {
  try {
    return holds();
  } catch (const BadArgument&) {
    return false;
  } catch (const Unsupported&) {
    return false;
  }
}

/// As Shrinking::take, of a case made again: `making` becomes `smaller` where it still fails. A
/// problem that has no such case does not fail.
bool take(Shrinking& shrinking, Making& making, const Making& smaller, const std::string& what,
          const std::string& from, const std::string& to);

/// Extents, and words of the problem that are not needed.
bool shrink_problem(Shrinking& shrinking, Making& making);
/// Inputs to one value throughout: 0, 1, or one that they have.
bool shrink_data(Shrinking& shrinking, Making& making);
/// Inputs that cannot be that, to zeros but for the elements that are needed.
bool shrink_elements(Shrinking& shrinking, Making& making);

}  // namespace clam
