// SPDX-License-Identifier: MIT
// new_op.cpp - the fields of new_op, and how it is computed.
#include "shared/op.hpp"

namespace clam {
namespace {

void check(const Problem&, Schema::Values&) {}

std::vector<TensorSpec> tensors(const Problem& p) {
  const Shape shape{p.integer("n")};
  return {input("src", p.dtype(), shape), output("dst", p.dtype(), shape)};
}

double flops(const Problem& p) { return p.integer("n"); }

Launch plain(const Request& request) {
  const int n = request.problem.integer("n");
  const Group group{group_along_x("new_op", kUsualGroup, request), 1};
  return own_launch(request, fmt::format("-DNEW_OP_WG={}", group.x), group, {n, 1, 1},
                    arg_list("src", "dst", n, request.problem.number("factor")));
}

}  // namespace

Op new_op_op() {
  Op op;
  op.name = "new_op";
  op.about = "dst[i] = factor * src[i]";
  op.fields = {extent("n", "elements"), dtype_field(),
               number("factor", "what src is multiplied by", "2")};
  op.check = check;
  op.tensors = tensors;
  op.variants = {{"new_op_plain", "the only one", refuses_small_groups, planned(plain)}};
  op.flops = flops;
  op.bytes = tensor_bytes;
  return op;
}

}  // namespace clam
