// SPDX-License-Identifier: MIT
// manifest.hpp - what the contracts of kernel files (runtime/contracts.hpp) say of one launch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clam/op.hpp"
#include "clam/plan.hpp"
#include "runtime/contracts.hpp"

namespace clam {

/// Compares a launch of a plan with the tags of its file: kernel, options, arguments, geometry, and
/// the needs that are formulas. Empty if all agree.
Reason contradiction(const FileTags& tags, const Plan& plan, const Launch& launch);

/// A word of build options; -D, -U and -I have the word behind them where they stand alone. Of
/// "-DNAME=VALUE" it has the name and the value, of "-DNAME" 1.
struct BuildOption {
  std::string word, name, value;
  bool is_define() const { return word.compare(0, 2, "-D") == 0; }
};
std::vector<BuildOption> build_options(const std::string& options);

/// The defines of the launch and its arguments that are numbers, by their names in the tags. Throws
/// BadArgument where the kernel is not tagged.
std::map<std::string, double, std::less<>> values_of(const FileTags& tags, const Launch& launch);

/// How often a loop runs each time it is reached.
struct Trips {
  double least = 0, most = 0;
  /// Follows from the options alone, for every work-item: a compiler may have unrolled the loop.
  bool fixed = false;
};
/// The loops that the launch's kernel has, in the order of its tags. Throws BadArgument naming the
/// kernel and the formula that is no count.
std::vector<Trips> trips(const FileTags& tags, const Launch& launch);

/// The value of a formula such as "ceil(n/(4*WG))*WG" or "k % 4 == 0" (1 or 0); nothing when it is
/// prose or uses an unknown name. Division is exact; ceil, floor, log2, exp2, min and max
/// are known.
std::optional<double> evaluate(std::string_view formula,
                               const std::map<std::string, double, std::less<>>& names);

}  // namespace clam
