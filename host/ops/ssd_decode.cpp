// SPDX-License-Identifier: MIT
// ssd_decode: its Problem line, and its plan.
#include "ops/shared/places.hpp"
#include "shared/boxes.hpp"

namespace clam {
namespace {

constexpr int kLanes = 4;  ///< work-items that share an anchor

/// Where an input of so many elements an anchor lies: from an anchor to the next, and the first.
struct Layout {
  std::int64_t ld, offset;
};

Layout layout(const Problem& problem, const std::string& name, int row) {
  return {given_or(problem, "ld" + name, row), problem.integer("off" + name)};
}

void check(const Problem& problem, Schema::Values& values) {
  check_classes(problem);
  check_variances(problem);
  check_row_stride(problem, values, "cls", problem.integer("classes"));
  check_row_stride(problem, values, "box", 4);
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), classes = p.integer("classes");
  const auto of_anchors = [&](const char* name, int row) {
    const std::int64_t ld = layout(p, name, row).ld;
    return placed(p, input(name, p.dtype(), {batch, n, row}), {"ld"}, {n * ld, ld, 1});
  };
  return {of_anchors("cls", p.integer("classes")), of_anchors("box", 4),
          input("anchors", p.dtype(), {1, n, 4}),
          output("data", p.dtype(), {batch, (classes - 1) * n, 6})};
}

Reason refuses(const Problem&, const DeviceInfo& device) {
  const std::int64_t most = most_along_xy(device);
  return reason_if(most < kLanes, "{} work-items share an anchor, a group has at most {}", kLanes,
                   most);
}

Launch rows(const Request& request) {
  const Problem& p = request.problem;
  const int n = p.integer("n"),
            anchors =
                group_size(kUsualGroup, kLanes, most_along_xy(request.device), request) / kLanes;
  const std::vector<float> v = p.numbers("variances");
  const Layout cls = layout(p, "cls", p.integer("classes")), box = layout(p, "box", 4);
  const bool loose = box.ld % 4 != 0 || box.offset % 4 != 0;
  return own_launch(
      request,
      fmt::format("-DSSD_DECODE_ANCHORS={}{}", anchors, loose ? " -DSSD_DECODE_UNIT=1" : ""),
      {kLanes, anchors}, {kLanes, n, p.integer("batch")},
      arg_list("cls", "box", "anchors", "data", n, p.integer("classes"), p.number("threshold"),
               v[0], v[1], v[2], v[3], cls.ld, cls.offset, box.ld, box.offset));
}

/// Of a score a comparison, a difference, an exponential, a sum and a product; of a box 16.
double flops(const Problem& p) {
  return static_cast<double>(p.integer("batch")) * p.integer("n") *
         (5.0 * p.integer("classes") + 16);
}

}  // namespace

Op ssd_decode_op() {
  return {{"ssd_decode",
           "rows (id, score, box) of every class and anchor: softmax of the scores, boxes from "
           "offsets",
           {extent("batch", "independent images", "1"),
            extent("classes", "scores of an anchor, with the background"), extent("n", "anchors"),
            dtype_field(), number("threshold", "a class has a higher score, else id -1", "0.01"),
            variances_field(),
            place("ldcls", "from an anchor's scores to the next's, in elements; 0: classes"),
            place("ldbox", "from an anchor's offsets to the next's; 0: 4"),
            place("offcls", "first element of cls"), place("offbox", "first element of box")},
           check,
           tensors},
          {{"ssd_decode_rows", "the only one", refuses, planned(rows)}},
          flops};
}

}  // namespace clam
