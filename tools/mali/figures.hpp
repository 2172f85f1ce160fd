// SPDX-License-Identifier: MIT
// figures.hpp - the expectations as tables that people read, and the README sections that hold
// them:
//
//     <!-- figures of dense -->
//     a table, written anew by `clam mali --figures FILE`
//     <!-- end of figures -->
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "clam/op.hpp"
#include "expectations.hpp"

namespace clam::mali {

/// A Markdown table: a row for each of the op's kernels, dtype, accumulator and stride, with the
/// tiles that do best on one of the GPUs; a column for each GPU. Of several lines with that tile
/// the one with the fewest multiply-adds an instruction is shown, of these the shortest kernel. f16
/// shares the row of f32 where its figures are nearly the same.
std::string figures_table(const Op& op, const Expectations& expectations);

/// The defines of kernel files that tell rows apart.
std::vector<std::string> figures_defines();

/// The text with every section written anew by table_of(its name). Throws BadArgument for a section
/// that does not end, and for a text without any.
std::string with_sections(std::string_view text,
                          const std::function<std::string(const std::string&)>& table_of);
/// Of sections that are named after ops. Throws BadArgument for one of no op too.
std::string with_figures(std::string_view text, const Expectations& expectations);

}  // namespace clam::mali
