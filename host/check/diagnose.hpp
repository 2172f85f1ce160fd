// SPDX-License-Identifier: MIT
// diagnose.hpp - wrong boxes, and the known fault that leaves boxes wrong in just this way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "box_rows.hpp"

namespace clam {

/// What gave the rows, and so what must hold of them.
enum class BoxOrigin {
  rows,              ///< not said: by score they are nms', in another order get_valid_counts'
  get_valid_counts,  ///< valid rows in the order of the input, then rows of -1
  nms,               ///< kept rows by score, and rows of -1 anywhere
};

/// Throws BadArgument for a word that is none of the three.
BoxOrigin parse_box_origin(const std::string& word);

/// The signature of a fault, and the rows that show it.
struct Finding {
  enum class Sure { hint, likely, certain };
  std::string signature;           ///< "torn_rows": a word for programs
  Sure sure = Sure::hint;          ///< certain: a fault, whatever the boxes are of
  std::string what;                ///< one sentence
  std::vector<std::int64_t> rows;  ///< numbered as in BoxRows; may be empty
  std::string next;                ///< what to do, with the command
};

const char* name(Finding::Sure sure);

struct Diagnosis {
  std::int64_t valid = 0, filled = 0;  ///< rows; the others have no class
  std::vector<Finding> findings;       ///< by the cause first, then what follows from it
};

/// Looks for the signatures of known faults. `good`, if any, are the right rows: those of a
/// reference or another device for the same input. Then rows are compared bit for bit, in half if
/// either is half. Throws BadArgument if `good` and `boxes` differ in shape; n may differ.
Diagnosis diagnose(const BoxRows& boxes, const BoxRows* good = nullptr,
                   BoxOrigin origin = BoxOrigin::rows);

}  // namespace clam
