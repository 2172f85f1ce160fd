// SPDX-License-Identifier: MIT
// multibox_transform_loc: its Problem line, and its plan.
#include "shared/boxes.hpp"

namespace clam {
namespace {

void check(const Problem& problem, Schema::Values&) {
  check_classes(problem);
  check_variances(problem);
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n");
  return {input("cls_prob", p.dtype(), {batch, p.integer("classes"), n}),
          input("loc", p.dtype(), {batch, 4 * n}), input("anchors", p.dtype(), {1, n, 4}),
          output("out", p.dtype(), {batch, n, 6}), output("count", Dtype::i32, {batch})};
}

void plan(const Request& request, Plan& plan) {
  const Problem& p = request.problem;
  const int n = p.integer("n"), classes = p.integer("classes"), batch = p.integer("batch");
  const int group = usual_group(request);
  const std::vector<float> v = p.numbers("variances");
  const auto launch = [&](const char* kernel, std::vector<Arg> args) {
    return group_launch("multibox_transform_loc.cl", kernel,
                        fmt::format("{}-DMTL_WG={}", dtype_option(p.dtype()), group), {group, 1}, n,
                        batch, 1, std::move(args));
  };
  plan.buffers = {scratch("best", std::int64_t{4} * batch * n),
                  scratch("counts", std::int64_t{4} * batch * ceil_div(n, group))};
  plan.launches = {launch("multibox_transform_loc_count", arg_list("cls_prob", "best", "counts", n,
                                                                   classes, p.number("threshold"))),
                   launch("multibox_transform_loc_scatter",
                          arg_list("cls_prob", "loc", "anchors", "out", "count", "best", "counts",
                                   n, classes, p.integer("clip"), v[0], v[1], v[2], v[3]))};
}

}  // namespace

Op multibox_transform_loc_op() {
  return {
      {"multibox_transform_loc",
       "rows (class, score, box) of the anchors whose best class reaches the threshold, in order",
       {extent("batch", "independent images", "1"),
        extent("classes", "scores of an anchor, with the background"), extent("n", "anchors"),
        dtype_field(), number("threshold", "the lowest score of a class", "0.01"),
        integer("clip", "1: corners are kept between 0 and 1", "1", 0, 1), variances_field()},
       check,
       tensors},
      {{"multibox_transform_loc_two", "the only one: count, scatter", refuses_small_groups,
        planned(plan)}}};
}

}  // namespace clam
