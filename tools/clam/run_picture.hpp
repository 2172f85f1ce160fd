// SPDX-License-Identifier: MIT
// run_picture.hpp - `clam run --svg`: which boxes an op kept, to look at.
#pragma once

#include "check/box_picture.hpp"
#include "run_job.hpp"

namespace clam::cli {

/// Throws BadArgument for a job whose op keeps no boxes, or whose rows have no place for four
/// coordinates.
void require_boxes(const RunJob& job);

/// The boxes of the first batch item. get_valid_counts: the valid rows. nms: the rows that the
/// device kept, and the other valid ones, suppressed; rows past the count are not drawn.
BoxPicture run_picture(const RunJob& job, const Tensors& outputs);

}  // namespace clam::cli
