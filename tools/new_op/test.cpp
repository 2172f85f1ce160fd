// SPDX-License-Identifier: MIT
// new_op_test.cpp - what is special of new_op. Its cases, random problems and faulty outputs are
// tested as those of every op: every_op_test.cpp, every_op_device_test.cpp.
#include "op_device.hpp"

namespace clam::new_op {
namespace {

TEST(new_op, the_reference_is_the_formula) {
  const Problem problem = Problem::parse("new_op n=2 dtype=f32 factor=-2");
  Tensors inputs{{"src", HostTensor(Dtype::f32, {2})}};
  inputs.at("src").set(0, 1.5);
  inputs.at("src").set(1, -4);
  EXPECT_EQ(reference_of(problem, inputs, {}).at("dst").value, (std::vector<double>{-3, 8}));
}

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class new_op_broken : public test::OpDevice {};

TEST_F(new_op_broken, broken_kernels_are_caught) {
  expect_caught("new_op.cl", {"another factor", "* factor", "* factor * 1.001f", "new_op n=100",
                              "new_op_plain", "zero_mean"});
}

}  // namespace
}  // namespace clam::new_op
