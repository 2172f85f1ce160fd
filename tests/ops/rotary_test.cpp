// SPDX-License-Identifier: MIT
// rotary_test.cpp - problems, plans, references and kernels of rotary.
#include "ops/rotary.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::rotary_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("rotary " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs, Check check = Check::hard) {
  return reference_of(problem, inputs, {check}).at("dst");
}

HostTensor tensor(Shape shape, const std::vector<double>& values) {
  HostTensor tensor(Dtype::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

// ---- problems and plans ----

TEST(rotary, canonical_text_leaves_out_what_is_rotated_whole) {
  EXPECT_EQ(parse("d=64 n=192 heads=4 batch=1 rotary_dim=64").text(),
            "rotary batch=1 heads=4 n=192 d=64 dtype=f32");
  EXPECT_EQ(parse("batch=1 heads=4 n=192 d=64 pairing=halves rotary_dim=32").text(),
            "rotary batch=1 heads=4 n=192 d=64 dtype=f32 rotary_dim=32 pairing=halves");
}

TEST(rotary, tensors_and_counts) {
  const Problem problem = parse("batch=2 heads=3 n=5 d=8 rotary_dim=4", "f16");
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_EQ(specs[0].shape, (Shape{2, 3, 5, 8}));
  EXPECT_EQ(specs[1].shape, (Shape{5, 8}));
  EXPECT_EQ(specs[3].may_be, "src");
  EXPECT_EQ(flops_of(problem), 3.0 * 6 * 5 * 4);
  EXPECT_EQ(bytes_of(problem), 2.0 * (2 * 240 + 2 * 40));
}

TEST(rotary, heads_may_lie_in_longer_rows) {
  const Problem problem = parse(
      "batch=1 heads=4 n=5 d=8 ldsrc=96 headsrc=8 offsrc=32 lddst=64 headdst=8 offdst=4", "f16");
  const std::vector<TensorSpec> specs = problem.tensors();
  EXPECT_EQ(specs[0].strides, (std::vector<std::int64_t>{32, 8, 96, 1}));
  EXPECT_EQ(specs[0].offset, 32);
  EXPECT_EQ(specs[3].strides, (std::vector<std::int64_t>{32, 8, 64, 1}));
  EXPECT_EQ(specs[3].may_be, "") << "it lies elsewhere";
  EXPECT_EQ(parse("batch=2 heads=4 n=5 d=8 ldsrc=8 headsrc=40 lddst=8").text(),
            "rotary batch=2 heads=4 n=5 d=8 dtype=f32");
  EXPECT_EQ(parse("batch=1 heads=1 n=5 d=8 headdst=99").text(),
            "rotary batch=1 heads=1 n=5 d=8 dtype=f32");
}

TEST(rotary, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("heads=1 n=1 d=2", "batch is missing");
  expect("batch=1 heads=1 n=1 d=3", "rotary: d=3, needs pairs of elements");
  expect("batch=1 heads=1 n=1 d=4 rotary_dim=3", "rotary: rotary_dim=3, needs pairs of elements");
  expect("batch=1 heads=1 n=1 d=4 rotary_dim=6", "rotary: rotary_dim=6, needs at most d=4");
  expect("batch=1 heads=1 n=1 d=4 pairing=none", "pairing='none'");
  expect("batch=1 heads=1 n=2 d=4 ldsrc=3", "rotary: ldsrc=3, is under the 4 elements of a row");
  expect("batch=2 heads=2 n=2 d=4 ldsrc=8 headsrc=4", "rotary: headsrc=4, needs batch=1");
  expect("batch=1 heads=2 n=2 d=4 lddst=8 headdst=2",
         "rotary: headdst=2, lets elements of dst share places: it needs 4 or more");
  expect("batch=1 heads=3 n=2 d=4 lddst=8 headdst=4",
         "rotary: lddst=8, lets elements of dst share places: it needs 12 or more");
  expect("batch=65536 heads=65536 n=1 d=2", "batch * heads is over 2147483647");
  expect("batch=65536 heads=1024 n=16 d=64", "2147483647");
}

TEST(rotary, an_item_takes_vectors_and_several_heads_where_it_can) {
  const auto options = [](const std::string& words) {
    return make_plan(parse(words), generic_device()).launches.at(0).options;
  };
  EXPECT_EQ(options("batch=8 heads=16 n=512 d=64"),
            "-DROTARY_UNIT=4 -DROTARY_HEADS=4 -DROTARY_LX=16 -DROTARY_LY=4");
  EXPECT_EQ(options("batch=1 heads=3 n=5 d=6"),
            "-DROTARY_UNIT=1 -DROTARY_HEADS=1 -DROTARY_LX=4 -DROTARY_LY=8");
  EXPECT_EQ(options("batch=1 heads=8 n=384 d=64 ldsrc=768 headsrc=64 lddst=512 headdst=64"),
            "-DROTARY_UNIT=4 -DROTARY_HEADS=4 -DROTARY_LX=16 -DROTARY_LY=4");
  for (const char* words :
       {"ldsrc=66", "lddst=66", "offsrc=2", "offdst=1", "ldsrc=67 headsrc=134"}) {
    EXPECT_NE(options(std::string("batch=1 heads=1 n=5 d=64 ") + words).find("UNIT=1"),
              std::string::npos)
        << words;
  }
  EXPECT_NE(options("batch=1 heads=1 n=5 d=20 pairing=halves").find("UNIT=1"), std::string::npos)
      << "a half of ten elements is no number of vectors";
}

// ---- the reference ----

TEST(rotary, the_reference_is_the_formula) {
  const Tensors inputs{{"src", tensor({1, 1, 1, 5}, {1, 2, 3, 4, 5})},
                       {"cos", tensor({1, 5}, {1, 10, 100, 1000, 7})},
                       {"sin", tensor({1, 5}, {2, 20, 200, 2000, 7})}};
  const auto values = [&](const char* pairing) {
    const Problem problem =
        parse(std::string("batch=1 heads=1 n=1 d=5 rotary_dim=4 pairing=") + pairing);
    return reference(problem, inputs).value;
  };
  EXPECT_EQ(values("adjacent"), (std::vector<double>{1 - 4, 20 + 20, 300 - 800, 4000 + 6000, 5}));
  EXPECT_EQ(values("halves"), (std::vector<double>{1 - 6, 20 - 80, 300 + 200, 4000 + 4000, 5}));
}

TEST(rotary, bounds_are_those_of_the_formula) {
  const Tensors inputs{{"src", tensor({1, 1, 1, 3}, {3, 4, 5})},
                       {"cos", tensor({1, 3}, {2, 1, 0})},
                       {"sin", tensor({1, 3}, {1, 1, 0})}};
  const auto bound = [&](Check check) {
    return reference(parse("batch=1 heads=1 n=1 d=3 rotary_dim=2"), inputs, check).bound;
  };
  EXPECT_NEAR(bound(Check::hard)[0], 0x1p-24 * (6 + 4 + 2), 1e-15);
  EXPECT_EQ(bound(Check::hard)[2], 0) << "a copy";
  EXPECT_EQ(bound(Check::exact)[0], 0);
}

// ---- tests of the tests ----

/// The right result, or one with the sign, the pairs or the tables of another.
HostTensor computed(const Problem& problem, const Tensors& inputs, const std::string& fault) {
  const Rotary rotary(problem);
  const HostTensor& src = inputs.at("src");
  HostTensor dst(problem.dtype(), src.shape());
  const Rotary pairs(
      fault == "pairs" ? problem.with("pairing", rotary.halves ? "adjacent" : "halves") : problem);
  for (std::int64_t at = 0; at < src.size(); ++at) {
    const int j = static_cast<int>(at % rotary.d);
    const std::int64_t place = at / rotary.d % rotary.n * rotary.d + j;
    if (j >= rotary.rotary_dim) {
      dst.set_bits(at, src.bits(at));
      continue;
    }
    const auto t = static_cast<float>(src.get(at)),
               other = static_cast<float>(src.get(at - j + pairs.partner(j))),
               c = static_cast<float>(inputs.at("cos").get(place)),
               s = static_cast<float>(inputs.at(fault == "tables" ? "cos" : "sin").get(place));
    const bool minus = pairs.is_first(j) != (fault == "sign");
    dst.set(at, static_cast<double>(t * c + (minus ? -other : other) * s));
  }
  return dst;
}

const test::Simulation simulation("rotary", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return computed(problem, inputs, "");
                                  });

TEST(rotary, every_set_catches_signs_tables_and_pairs_of_another) {
  test::for_each_case("rotary", [](const Problem& problem) {
    const Rotary rotary(problem);
    for (const DataSet& set : proof_of(problem).data_sets) {
      const Tensors inputs = make_inputs(problem, set, 1);
      const Expected dst = reference(problem, inputs, set.check);
      if (set.name == "special" || inputs.at("src").size() < 20) continue;
      EXPECT_FALSE(compare(computed(problem, inputs, "sign"), dst).pass) << set.name;
      EXPECT_FALSE(compare(computed(problem, inputs, "tables"), dst).pass) << set.name;
      if (rotary.rotary_dim == 2) continue;  // both pairings are one
      EXPECT_FALSE(compare(computed(problem, inputs, "pairs"), dst).pass) << set.name;
    }
  });
}

// ---- kernels ----

using rotary_device = test::OpDevice;
class rotary_broken : public test::OpDevice {};

TEST_F(rotary_device, what_is_not_rotated_keeps_its_bits) {
  for (const std::string& dtype : dtypes()) {
    for (const char* pairing : {"adjacent", "halves"}) {
      for (const char* extents : {"n=5 d=24 rotary_dim=8", "n=5 d=7 rotary_dim=4"}) {
        const Problem problem = OpDevice::parse(
            fmt::format("rotary batch=1 heads=2 {} pairing={}", extents, pairing), dtype);
        const Rotary rotary(problem);
        Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), test::seed());
        HostTensor& src = inputs.at("src");
        // NaN with payloads, and denormals.
        const std::uint32_t nan = dtype == "f16" ? 0x7C01 : 0x7F800001;
        for (std::int64_t i = 0; i < src.size(); ++i) {
          const auto low = static_cast<std::uint32_t>(i % 50);
          if (i % rotary.d >= rotary.rotary_dim) src.set_bits(i, i % 2 == 0 ? nan + low : low);
        }
        for_each_variant(problem, 0, [&](Trial& trial) {
          const HostTensor dst = run(trial, inputs).at("dst");
          for (std::int64_t i = 0; i < dst.size(); ++i) {
            if (i % rotary.d < rotary.rotary_dim) continue;
            EXPECT_EQ(dst.bits(i), src.bits(i)) << i;
          }
        });
      }
    }
  }
}

TEST_F(rotary_broken, broken_kernels_are_caught) {
  const char *adjacent = "rotary_adjacent", *halves = "rotary_halves", *set = "zero_mean";
  const char *vectors = "rotary batch=1 heads=4 n=33 d=68",
             *pairs = "rotary batch=1 heads=3 n=5 d=6",
             *far = "rotary batch=2 heads=1 n=65 d=80 rotary_dim=16 pairing=halves",
             *placed =
                 "rotary batch=1 heads=256 n=65 d=16 ldsrc=5124 headsrc=20 lddst=5200 headdst=16 "
                 "offdst=4";
  const test::KernelFault faults[] = {
      {"the sign of a pair", "(-t.y, t.x, -t.w, t.z)", "(t.y, t.x, -t.w, t.z)", vectors, adjacent,
       set},
      {"one sine for both of a pair", "fma(a, s1, b * c1)", "fma(a, s0, b * c1)", pairs, adjacent,
       set},
      {"the sign of a half", "fma(-b, s0, a * c0)", "fma(b, s0, a * c0)", far, halves, set},
      {"the partner of another half", "other = rotary_dim / 2 * SIZE",
       "other = rotary_dim / 4 * SIZE", far, halves, set},
      {"the tables of the first position", "load(cos_table, place)",
       "load(cos_table, place % (d * SIZE))", vectors, adjacent, set},
      {"the last position is left out", "i >= (uint)n", "i + 1 >= (uint)n", vectors, adjacent, set},
      {"the last item of a row is left out", "x >= (uint)items", "x + 1 >= (uint)items", far,
       halves, set},
      {"the last head is left out", "m < ROTARY_HEADS", "m < 1",
       "rotary batch=64 heads=4 n=33 d=68", adjacent, set},
      {"what is not rotated is copied from its neighbour", "dst, to + m * dst_step);\n}",
       "dst, to + m * dst_step - SIZE * ROTARY_UNIT);\n}", far, halves, set},
      {"rows of dst lie as those of src", "i * dst_ld", "i * src_ld", placed, adjacent, set},
      {"heads of src lie as those of dst", "src_step = src_head", "src_step = dst_head", placed,
       adjacent, set},
      {"the first element of dst is 0", "(dst_offset + m0", "(m0", placed, adjacent, set},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("rotary.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("rotary", 1, test::Bits::same,
                              {"batch=1 heads=4 n=33 d=68", "batch=1 heads=3 n=5 d=6",
                               "batch=1 heads=3 n=5 d=7 rotary_dim=6 pairing=halves",
                               "batch=2 heads=1 n=65 d=80 rotary_dim=16 pairing=halves"});

std::string random_case(Random& random) {
  const int rotary_dim = 2 * random.integer(1, 30);
  return fmt::format("rotary batch={} heads={} n={} d={} rotary_dim={} pairing={}",
                     random.integer(1, 3), random.integer(1, 9), random.integer(1, 70),
                     rotary_dim + random.integer(0, 20), rotary_dim,
                     random.integer(0, 1) == 0 ? "halves" : "adjacent");
}

const test::RandomProblems random_problems("rotary", 6, random_case);

}  // namespace
}  // namespace clam::rotary_test
