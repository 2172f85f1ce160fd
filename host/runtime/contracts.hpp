// SPDX-License-Identifier: MIT
// contracts.hpp - the contract tags of kernel files (`//@define`, `//@kernel`, `//@arg`, ...), as
// data.
//
//     //@define NAME DEFAULT {LEGAL,VALUES} about       DEFAULT `off`: not defined, a switch
//     //@kernel NAME
//     //@arg    INDEX NAME in|out|inout|scratch|local TYPE[SIZE] about
//     //@arg    INDEX NAME int|float about
//     //@null   NAME, NAME if CONDITION                 may be null; without `if` always
//     //@layout formula                                 how a packed operand lies
//     //@global SIZE, SIZE, SIZE  prose                 no blanks inside a size, two before prose
//     //@local  SIZE, SIZE, SIZE  prose
//     //@needs  condition, condition
//
//     //@loops  KERNEL                                  at the end of the file
//     //@loop   TRIPS if CONDITION about                no blanks inside either; `if` may be absent
//
// A kernel has one //@loop for each loop of its compiled code, in the order of the code. That is
// the text with functions written out where they are called, an outer loop before its inner loops.
// TRIPS are those of a work-item each time it reaches the loop; if they differ, their average. It
// is a formula over scalar arguments and defines. It is LEAST..MOST if it depends on the data, or
// on which work-item it is. A formula of defines alone is a loop that compilers may unroll.
// CONDITION, of defines, says that the text has the loop.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "clam/kernels.hpp"

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
  std::string null_if;  ///< when it may be null, as a formula; empty: never
  std::string about;
};
const char* name(ArgTag::Kind kind);

struct LoopTag {
  std::string least, most;  ///< formulas; the same one where the tag has no range
  bool is_range = false;    ///< work-items may differ, also where the ends are the same
  std::string condition;    ///< empty: the text has the loop always
  std::string about;
};

struct KernelTags {
  std::string name, about;
  std::vector<ArgTag> args;
  std::vector<std::string> layouts;
  std::vector<std::string> global, local;  ///< one formula an axis
  std::vector<std::string> needs;          ///< one text a tag
  std::vector<LoopTag> loops;
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

/// Of all contracts, "1.0": kernels/CHANGELOG.md says when it is raised.
std::string kernels_version();

/// The contracts of these files, with their version and that of clam.
nlohmann::json manifest_json(const std::vector<KernelSource>& sources);

}  // namespace clam
