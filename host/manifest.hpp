// SPDX-License-Identifier: MIT
// manifest.hpp - the contract tags of kernel files (`//@define`, `//@kernel`, `//@arg`, ...), as
// data.
//
//     //@define NAME DEFAULT {LEGAL,VALUES} about       DEFAULT `off`: not defined, a switch
//     //@kernel NAME
//     //@arg    INDEX NAME in|out|inout|scratch|local TYPE[SIZE] about
//     //@arg    INDEX NAME int|float about
//     //@layout formula                                 how a packed operand lies
//     //@global SIZE, SIZE, SIZE  prose                 no blanks inside a size, two before prose
//     //@local  SIZE, SIZE, SIZE  prose
//     //@needs  condition, condition
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels.hpp"
#include "op.hpp"
#include "plan.hpp"

namespace clam {

struct DefineTag {
  std::string name;
  std::string fallback;             ///< "off" when it is not defined by default
  std::vector<std::string> values;  ///< legal ones; empty: any, or for a switch on and off
  std::string about;
  bool is_switch() const { return fallback == "off" && values.empty(); }
};

struct ArgTag {
  enum class Kind { in, out, inout, scratch, local, scalar };
  std::string name;
  Kind kind = Kind::scalar;
  std::string type;  ///< of an element: "T", "int", "float", "uint2"
  std::string size;  ///< elements, as a formula; empty for a scalar
  std::string about;
  bool may_be_null() const { return about.find("null") != std::string::npos; }
};
const char* name(ArgTag::Kind kind);

struct KernelTags {
  std::string name, about;
  std::vector<ArgTag> args;
  std::vector<std::string> layouts;
  std::vector<std::string> global, local;  ///< one formula an axis
  std::vector<std::string> needs;          ///< one text a tag
};

/// The tags of one kernel file.
struct FileTags {
  std::string file, origin, hash, about;
  std::vector<DefineTag> defines;
  std::vector<KernelTags> kernels;
  const DefineTag* define(std::string_view name) const;  ///< nullptr when absent
  const KernelTags* kernel(std::string_view name) const;
};

/// Throws BadArgument "FILE:LINE: what is wrong", also when the file has no tagged kernel.
FileTags read_tags(const KernelSource& source);
nlohmann::json to_json(const FileTags& tags);

/// Holds a launch of a plan against the tags of its file: the kernel, its options, the number and
/// kind of its arguments, its geometry, and the needs that are formulas. Empty when all agree.
Reason contradiction(const FileTags& tags, const Plan& plan, const Launch& launch);

/// The value of a formula such as "ceil(n/(4*WG))*WG" or "k % 4 == 0" (1 or 0); nothing when it is
/// prose or uses an unknown name. Division is exact; ceil, floor, min and max are known.
std::optional<double> evaluate(std::string_view formula,
                               const std::map<std::string, double, std::less<>>& names);

}  // namespace clam
