// SPDX-License-Identifier: MIT
// accumulator_test.cpp - sums in half (acc=chunk, acc=f16): what a device may do with them, in
// simulation, stays within the references' bounds, and what it may not do is caught.
#include "ops/shared/accumulator.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "check/compare.hpp"
#include "check/op_proof.hpp"
#include "check/ops/shared/epilogue.hpp"
#include "check/ops/shared/random.hpp"
#include "check/ops/shared/summation.hpp"
#include "clam/planner.hpp"
#include "ops/conv2d_problem.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::accumulator_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kSeed = 1;  // fixed, so that small cases cannot pass or fail by chance
const double kHalf = unit_roundoff(Dtype::f16), kFloat = unit_roundoff(Dtype::f32);

// ---- a device that sums in half ----

using Products = std::vector<std::pair<double, double>>;  // the factors of each

constexpr int kInFloat = -1;

/// How a device sums: in chunks of so many products (0: all of them in one), or in float.
struct Summing {
  enum class Order { ascending, descending, shuffled, even_and_odd };
  int chunk;
  bool fused = true;
  Order order = Order::ascending;
};

/// The products from `begin` on, each `step`-th, each operation rounded to half.
double half_sum(const Products& products, std::size_t begin, std::size_t end, std::size_t step,
                bool fused) {
  double sum = round_to_half(products[begin].first * products[begin].second);
  for (std::size_t i = begin + step; i < end; i += step) {
    const double product = products[i].first * products[i].second;
    sum = round_to_half(sum + (fused ? product : round_to_half(product)));
  }
  return sum;
}

double float_sum(const Products& products) {
  float sum = 0;
  for (const auto& [a, b] : products) sum += static_cast<float>(a) * static_cast<float>(b);
  return static_cast<double>(sum);
}

double device_sum(Products products, const Summing& how) {
  if (how.chunk == kInFloat) return float_sum(products);
  Random random(products.size());
  if (how.order == Summing::Order::descending) std::reverse(products.begin(), products.end());
  for (std::size_t i = products.size(); how.order == Summing::Order::shuffled && i > 1; --i) {
    std::swap(products[i - 1], products[random.bits() % i]);
  }
  const std::size_t chunk = how.chunk > 0 ? static_cast<std::size_t>(how.chunk) : products.size();
  float total = 0;
  for (std::size_t begin = 0; begin < products.size(); begin += chunk) {
    const std::size_t end = std::min(begin + chunk, products.size());
    double sum = 0;
    if (how.order == Summing::Order::even_and_odd && end - begin > 1) {
      sum = round_to_half(half_sum(products, begin, end, 2, how.fused) +
                          half_sum(products, begin + 1, end, 2, how.fused));
    } else {
      sum = half_sum(products, begin, end, 1, how.fused);
    }
    total += static_cast<float>(sum);
  }
  return static_cast<double>(total);
}

/// What devices do: both roundings of a multiply-add, any order, and chunks shorter than 32.
std::vector<Summing> honest(Acc acc) {
  using Order = Summing::Order;
  const int chunk = acc == Acc::chunk ? kChunk : 0;
  std::vector<Summing> ways{{chunk, true, Order::ascending},
                            {chunk, false, Order::ascending},
                            {chunk, false, Order::descending},
                            {chunk, false, Order::shuffled},
                            {chunk, false, Order::even_and_odd}};
  if (acc == Acc::chunk) ways.insert(ways.end(), {{16, false, Order::shuffled}, {27}, {9}, {1}});
  return ways;
}

Products random_products(int k, const char* set, Random& random) {
  const std::string name = set;
  const auto number = [&](bool first) {
    if (name == "positive") return round_to_half(0.5 + random.uniform());
    if (name == "zero_mean") return round_to_half(random.normal());
    const double factor = first && random.integer(0, std::max(64, k / 16) - 1) == 0 ? 1000 : 1;
    return round_to_half(factor * std::fabs(random.normal()));
  };
  Products products(static_cast<std::size_t>(k));
  for (auto& [a, b] : products) a = number(true), b = number(false);
  return products;
}

double exact_sum(const Products& products) {
  return std::accumulate(products.begin(), products.end(), 0.0,
                         [](double sum, const auto& p) { return sum + p.first * p.second; });
}

double bound_of(const Products& products, Acc acc, Check check) {
  HalfSummation sum(products_in_half(acc));
  for (const auto& [a, b] : products) sum.add(a * b);
  return sum.total(check).bound(check, kFloat);
}

// ---- the words ----

Problem parse(const std::string& line, const std::string& dtype = "f16") {
  return Problem::parse(line + " dtype=" + dtype);
}

TEST(accumulator, sums_in_half_are_of_half_tensors) {
  for (const char* line :
       {"dense m=4 n=4 k=4", "batch_matmul m=4 n=4 k=4", "conv2d c=4 h=4 w=4 k=4 r=1"}) {
    for (const char* acc : {" acc=chunk", " acc=f16"}) {
      EXPECT_NO_THROW(parse(std::string(line) + acc, "f16"));
      EXPECT_THROWS_SAYING(parse(std::string(line) + acc, "f32"), BadArgument,
                           "needs dtype=f16: f32 tensors are summed in float");
    }
    EXPECT_NO_THROW(parse(std::string(line) + " acc=f32", "f32"));
  }
}

TEST(accumulator, a_long_sum_is_not_offered_in_half_alone) {
  const auto reason = [](const std::string& line) {
    return acc_not_offered(parse(line)).value_or("");
  };
  const std::string words =
      "acc=f16 sums at most 1024 products, not 1025 (a positive sum of 4608 loses 13 %): "
      "use acc=chunk";
  EXPECT_EQ(reason("dense m=4 n=4 k=1024 acc=f16"), "");
  EXPECT_EQ(reason("dense m=4 n=4 k=1025 acc=f16"), words);
  EXPECT_EQ(reason("dense m=4 n=4 k=1000 k2=25 acc=f16"), words);
  EXPECT_EQ(reason("dense m=4 n=4 k=1025 acc=chunk"), "");
  EXPECT_EQ(reason("dense m=4 n=4 k=1025"), "");
  EXPECT_EQ(reason("batch_matmul batch=3 m=5 n=4 k=1025 acc=f16"), words);
  EXPECT_EQ(reason("conv2d n=2 c=41 h=7 w=9 k=3 r=5 pad=2 acc=f16"), words);
  EXPECT_EQ(reason("conv2d c=113 h=7 w=9 k=3 r=3 acc=f16"), "");
  EXPECT_EQ(reason("conv2d c=2048 h=7 w=9 k=16 r=3 groups=16 acc=f16").substr(0, 45),
            "acc=f16 sums at most 1024 products, not 1152 ");
  EXPECT_EQ(reason("conv2d c=2048 h=7 w=9 k=2048 r=3 groups=2048 acc=f16"), "");
  const Problem problem = parse("dense m=1 n=1 k=1025 acc=f16");
  EXPECT_THROWS_SAYING(make_plan(problem, generic_device()), Unsupported, words);
}

TEST(accumulator, cases_of_half_sums_are_of_f16_alone) {
  const std::vector<std::string> cases{"dense m=1 n=1 k=1", "dense m=1 n=1 k=1 acc=chunk",
                                       "dense m=1 n=1 k=1 acc=f16 bias"};
  EXPECT_EQ(problems_of(cases, "f32").size(), 1u);
  ASSERT_EQ(problems_of(cases, "f16").size(), 3u);
  EXPECT_EQ(problems_of(cases, "f16")[1].text(), "dense m=1 n=1 k=1 dtype=f16 acc=chunk");
}

// ---- bounds ----

TEST(accumulator, bounds_are_those_of_the_contract) {
  const Products products{{4, 1}, {2, -1}, {1, 8}};  // squares 84, sum 10, magnitudes 14
  const double denormals = 3 * 0x1p-25;
  for (const Acc acc : {Acc::chunk, Acc::f16}) {
    EXPECT_DOUBLE_EQ(bound_of(products, acc, Check::hard),
                     3 * kHalf * 14 + denormals + kFloat * 14);
    EXPECT_DOUBLE_EQ(
        bound_of(products, acc, Check::zero_mean),
        6 * kHalf * std::sqrt(4 / 6. * (84 + 2 * 100) + 84) + denormals + 6 * kFloat * 10);
    EXPECT_EQ(bound_of(products, acc, Check::exact), 0);
  }
  const Products ones(40, {1, 1});  // chunks of 32 and 8
  EXPECT_DOUBLE_EQ(bound_of(ones, Acc::chunk, Check::hard),
                   32 * kHalf * 40 + 40 * 0x1p-25 + kFloat * 2 * 40);
  EXPECT_DOUBLE_EQ(bound_of(ones, Acc::f16, Check::hard),
                   40 * kHalf * 40 + 40 * 0x1p-25 + kFloat * 40);
}

/// For zero-mean data the bound counts with the mean over all orders.
TEST(accumulator, a_zero_mean_bound_is_that_of_all_orders) {
  const Products products{{-3, 1}, {0.5, 1}, {1, 1}, {2, 1}, {7, 1}};
  std::vector<double> terms{-3, 0.5, 1, 2, 7};  // sorted, as next_permutation begins
  double mean = 0, orders = 0, squares = 0;
  for (const double term : terms) squares += term * term;
  do {
    double partial = 0;
    for (const double term : terms) partial += term, mean += partial * partial;
    ++orders;
  } while (std::next_permutation(terms.begin(), terms.end()));
  EXPECT_DOUBLE_EQ(bound_of(products, Acc::chunk, Check::zero_mean),
                   6 * kHalf * std::sqrt(mean / orders + squares) + 5 * 0x1p-25 + 6 * kFloat * 7.5);
}

TEST(accumulator, every_honest_sum_stays_within_its_bound) {
  constexpr int kFactors = 40000;  // of a K, over all its sums
  for (const Acc acc : {Acc::chunk, Acc::f16}) {
    for (const int k : {1, 2, 3, 5, 8, 27, 31, 32, 33, 64, 100, 192, 512, 1024, 4096}) {
      if (acc == Acc::f16 && k > kHalfProducts) continue;
      for (const char* set : {"zero_mean", "positive", "outliers"}) {
        const Check check = set == std::string("zero_mean") ? Check::zero_mean : Check::hard;
        Random random(test::seed() + static_cast<std::uint64_t>(k));
        double worst = 0;
        for (int i = 0; i < std::max(20, kFactors / k); ++i) {
          const Products products = random_products(k, set, random);
          const double bound = bound_of(products, acc, check), sum = exact_sum(products);
          for (const Summing& how : honest(acc)) {
            worst = std::max(worst, std::fabs(device_sum(products, how) - sum) / bound);
          }
        }
        EXPECT_LE(worst, 1) << set << " k=" << k;
        EXPECT_GT(worst, 0.001) << set << " k=" << k << ": the bound says nothing";
      }
    }
  }
}

TEST(accumulator, products_that_vanish_in_half_are_within_the_bound) {
  const Products tiny(32, {0x1p-13, 0x1p-13});  // each 2^-26, under half the least half
  for (const bool fused : {true, false}) EXPECT_EQ(device_sum(tiny, {0, fused}), 0);
  for (const Acc acc : {Acc::chunk, Acc::f16}) {
    EXPECT_GE(bound_of(tiny, acc, Check::hard), exact_sum(tiny));
    EXPECT_GE(bound_of(tiny, acc, Check::zero_mean), exact_sum(tiny));
    EXPECT_LT(bound_of(tiny, acc, Check::hard), 0x1p-19);
  }
}

TEST(accumulator, what_follows_the_sum_is_float_and_passes_its_error_on) {
  const auto bound = [](const std::string& rest) {
    const Problem problem = parse("dense m=1 n=1 k=3 acc=chunk" + rest);
    Tensors inputs = make_inputs(problem, find_data_set(problem, "exact"), 1);
    for (auto& [name, tensor] : inputs) {
      for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, 1);
    }
    return reference_of(problem, inputs, {Check::hard}).at("y").bound[0];
  };
  const double sum = 3 * kHalf * 3 + 3 * 0x1p-25, end = 0x1p-25;
  EXPECT_DOUBLE_EQ(bound(""), sum + kFloat * 3 + kHalf * 3 + end);
  EXPECT_DOUBLE_EQ(bound(" alpha=2"), 2 * sum + kFloat * (6 + 6) + kHalf * 6 + end);
  EXPECT_DOUBLE_EQ(bound(" bias"), sum + kFloat * (3 + 4) + kHalf * 4 + end);
  EXPECT_DOUBLE_EQ(bound(" alpha=2 act=relu6"), 0 + 2 * sum + kFloat * 12 + kHalf * 6 + end);
}

// ---- overflow on the way ----

/// Sums x, x, -x, -x/2 in the first columns of 20, and a quarter of each in the others.
Expected near_overflow(const std::string& line, double x, int columns) {
  const Problem problem = parse(line + " m=1 n=20 k=4 acc=chunk");
  Tensors inputs = make_inputs(problem, find_data_set(problem, "positive"), kSeed);
  const double row[] = {x, x, -x, -x / 2};
  for (std::int64_t i = 0; i < 4; ++i) inputs.at("x").set(i, row[i]);
  HostTensor& w = inputs.at("w");
  for (std::int64_t i = 0; i < w.size(); ++i) w.set(i, i / 4 < columns ? 1 : 0.25);
  return reference_of(problem, inputs, {Check::hard}).at("y");
}

Verdict overflowing(double x, double output, int columns) {
  const Expected y = near_overflow("dense", x, columns);
  HostTensor result(Dtype::f16, {1, 20});
  for (std::int64_t i = 0; i < 20; ++i) result.set(i, y.value[static_cast<std::size_t>(i)]);
  result.set(0, output);
  return compare(result, y);
}

TEST(accumulator, a_sum_that_may_overflow_on_its_way_may_be_anything) {
  EXPECT_EQ(device_sum({{40000, 1}, {40000, 1}, {-40000, 1}, {-20000, 1}}, {32}), kInfinity);
  for (const double output : {20000., kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_TRUE(overflowing(40000, output, 1).pass) << output;
  }
  // Where no order overflows, an infinity is wrong; and where over a tenth may, nothing is shown.
  EXPECT_FALSE(overflowing(30000, kInfinity, 1).pass);
  EXPECT_TRUE(overflowing(30000, 15000, 1).pass);
  EXPECT_TRUE(overflowing(40000, 20000, 3).blind);
  EXPECT_FALSE(overflowing(40000, 20000, 3).pass);
}

TEST(accumulator, what_an_activation_makes_of_an_overflow_may_be_anything) {
  for (const std::string& act : activation_names()) {
    const Expected y = near_overflow("dense alpha=0.001 bias residual act=" + act, 40000, 1);
    EXPECT_EQ(y.bound[0], kInfinity) << act;
    EXPECT_TRUE(std::isfinite(y.value[0]) && std::isfinite(y.bound[1])) << act;
  }
}

TEST(accumulator, a_sum_of_many_chunks_may_pass_what_a_half_holds) {
  const Products products(4096, {5, 5});  // 102400, and 800 a chunk
  EXPECT_TRUE(std::isfinite(bound_of(products, Acc::chunk, Check::hard)));
  EXPECT_EQ(device_sum(products, {32}), 102400);
  EXPECT_EQ(bound_of(products, Acc::f16, Check::hard), kInfinity);
}

// ---- whole problems ----

/// The products of output i of a plain problem, without those of padding.
Products products_of(const Problem& problem, const Tensors& inputs, std::int64_t i) {
  Products products;
  if (problem.schema().name == "conv2d") {
    const Conv2d conv(problem);
    const std::int64_t ow = conv.ow(), oy = i / ow % conv.oh(), k = i / ow / conv.oh() % conv.k;
    for (std::int64_t j = 0; j < conv.products(); ++j) {
      const std::int64_t c = j / (conv.r * conv.s), iy = oy - conv.pad_t + j / conv.s % conv.r;
      const std::int64_t ix = i % ow - conv.pad_l + j % conv.s;
      if (iy < 0 || iy >= conv.h || ix < 0 || ix >= conv.w) continue;
      products.emplace_back(inputs.at("x").get((c * conv.h + iy) * conv.w + ix),
                            inputs.at("w").get(k * conv.products() + j));
    }
    return products;
  }
  const bool dense = problem.schema().name == "dense";
  const HostTensor &a = inputs.at(dense ? "x" : "a"), &b = inputs.at(dense ? "w" : "b");
  const std::int64_t n = problem.integer("n"), k = problem.integer("k");
  for (std::int64_t j = 0; j < k; ++j) {
    products.emplace_back(a.get(i / n * k + j), b.get(i % n * k + j));
  }
  return products;
}

/// The output of a device that sums `kept` of the products in its way.
HostTensor device_output(const Problem& problem, const Tensors& inputs, const Summing& how,
                         double kept = 1) {
  const TensorSpec spec = problem.tensors().back();
  HostTensor output(spec.dtype, spec.shape);
  for (std::int64_t i = 0; i < output.size(); ++i) {
    Products products = products_of(problem, inputs, i);
    products.resize(static_cast<std::size_t>(kept * static_cast<double>(products.size())));
    output.set(i, device_sum(std::move(products), how));
  }
  return output;
}

/// A data set's inputs, and what the reference says of them.
struct Trap {
  Problem problem;
  Tensors inputs;
  Expected expected;

  Trap(const Problem& wanted, const DataSet& set)
      : problem(wanted), inputs(make_inputs(wanted, set, kSeed)) {
    Reference reference = reference_of(problem, inputs, {set.check});
    expected = std::move(reference.begin()->second);
  }
  Trap(const std::string& line, const char* set)
      : Trap(parse(line), find_data_set(parse(line), set)) {}
  Verdict judge(const Summing& how, double kept = 1) const {
    return compare(device_output(problem, inputs, how, kept), expected);
  }
};

/// Sums as long as those of models: of attention, of transformers' layers, and of convolutions.
std::vector<std::string> workload_shapes(Acc acc) {
  std::vector<std::string> lines{
      "dense m=6 n=32 k=256", "dense m=6 n=32 k=512", "batch_matmul m=6 n=32 k=64 tb=1",
      "batch_matmul m=6 n=32 k=192 tb=1", "conv2d c=1024 h=3 w=4 k=12 r=1"};
  if (acc == Acc::chunk) lines.push_back("conv2d c=512 h=3 w=4 k=12 r=3 pad=1");
  for (std::string& line : lines) line += acc == Acc::chunk ? " acc=chunk" : " acc=f16";
  return lines;
}

TEST(accumulator, honest_outputs_pass_every_set_and_none_is_blind) {
  for (const Acc acc : {Acc::chunk, Acc::f16}) {
    for (const std::string& line : test::of_this_run(workload_shapes(acc))) {
      for (const DataSet& set : proof_of(parse(line)).data_sets) {
        const Trap trap(parse(line), set);
        for (const Summing& how : honest(acc)) {
          const Verdict verdict = trap.judge(how);
          EXPECT_TRUE(verdict.pass) << line << " " << set.name << ": " << verdict.reason;
        }
      }
    }
  }
}

TEST(accumulator, an_exact_set_is_exact_in_half) {
  for (const Acc acc : {Acc::chunk, Acc::f16}) {
    for (const std::string& line : workload_shapes(acc)) {
      EXPECT_TRUE(Trap(line, "exact").expected.bit_exact()) << line;
    }
  }
  EXPECT_TRUE(Trap("dense m=1 n=2 k=1024 acc=f16", "exact").judge({0}).pass);
  const Products ones(2049, {1, 1});
  EXPECT_EQ(device_sum(ones, {0}), 2048);  // where a half stops counting
  const std::string one = "dense m=1 n=1 k=1 dtype=f16 acc=";
  EXPECT_THROWS_SAYING(Epilogue(Problem::parse(one + "f16")).require_exact_operands({}, 2049),
                       BadArgument, "dense: an exact check sums up to 2^11 products");
  EXPECT_NO_THROW(Epilogue(Problem::parse(one + "chunk")).require_exact_operands({}, 2049));
}

TEST(accumulator, outliers_of_half_sums_are_positive_and_do_not_overflow) {
  for (const char* line : {"dense m=8 n=64 k=4608 acc=chunk", "dense m=8 n=64 k=1024 acc=f16"}) {
    const Trap trap(line, "outliers");
    const HostTensor& x = trap.inputs.at("x");
    std::int64_t large = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      EXPECT_GE(x.get(i), 0);
      large += x.get(i) > 10;
    }
    EXPECT_GT(large, 8 * 8);
    EXPECT_LT(large, 8 * 24);
    for (const double bound : trap.expected.bound) EXPECT_TRUE(std::isfinite(bound)) << line;
  }
}

// ---- what must be caught ----

TEST(accumulator, a_sum_in_half_throughout_is_caught_where_chunks_were_asked_for) {
  for (const char* set : {"positive", "outliers", "zero_mean"}) {
    for (const char* line :
         {"dense m=6 n=32 k=4608 acc=chunk", "batch_matmul m=6 n=32 k=4608 tb=1 acc=chunk",
          "conv2d c=512 h=3 w=4 k=12 r=3 acc=chunk"}) {
      const Trap trap(line, set);
      EXPECT_TRUE(trap.judge({32}).pass) << line << " " << set;
      for (const bool fused : {true, false}) {
        EXPECT_FALSE(trap.judge({0, fused}).pass) << line << " " << set;
      }
    }
  }
}

TEST(accumulator, outliers_show_a_sum_in_half_throughout_from_fewer_products_on) {
  const Trap trap("dense m=6 n=32 k=512 acc=chunk", "outliers");
  EXPECT_TRUE(trap.judge({32}).pass);
  for (const bool fused : {true, false}) EXPECT_FALSE(trap.judge({0, fused}).pass);
}

TEST(accumulator, half_accumulators_are_caught_where_float_was_asked_for) {
  for (const char* set : {"positive", "outliers", "zero_mean"}) {
    for (const char* line : {"dense m=6 n=32 k=512", "batch_matmul m=6 n=32 k=192 tb=1",
                             "conv2d c=512 h=3 w=4 k=12 r=3 pad=1"}) {
      const Trap trap(line, set);
      EXPECT_TRUE(trap.judge({kInFloat}).pass) << line << " " << set;
      for (const int chunk : {0, 32}) EXPECT_FALSE(trap.judge({chunk}).pass) << line << " " << set;
    }
  }
}

TEST(accumulator, zeros_and_sums_without_their_end_are_caught_in_every_mode) {
  for (const char* acc : {" acc=f32", " acc=chunk", " acc=f16"}) {
    for (const char* problem : {"dense m=6 n=32 k=500", "batch_matmul m=6 n=32 k=180 tb=1",
                                "conv2d c=52 h=3 w=4 k=12 r=3"}) {
      const std::string line = std::string(problem) + acc;
      const auto products = static_cast<double>(products_of_sum(parse(line)));
      const double tail = std::fmod(products, kChunk);
      for (const char* set : {"exact", "zero_mean"}) {
        const Trap trap(line, set);
        const Summing how{acc == std::string(" acc=f16")     ? 0
                          : acc == std::string(" acc=chunk") ? kChunk
                                                             : kInFloat};
        EXPECT_FALSE(trap.judge(how, (products - tail) / products).pass) << line << " tail";
        EXPECT_FALSE(trap.judge(how, (products - tail - kChunk) / products).pass) << line;
      }
      for (const char* set : {"zero_mean", "positive", "outliers"}) {
        const Trap trap(line, set);
        const TensorSpec spec = trap.problem.tensors().back();
        EXPECT_FALSE(compare(HostTensor(spec.dtype, spec.shape), trap.expected).pass) << line;
      }
    }
  }
}

}  // namespace
}  // namespace clam::accumulator_test
