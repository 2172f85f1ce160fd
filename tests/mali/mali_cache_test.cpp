// SPDX-License-Identifier: MIT
// What a cache holds of a product's matrices: the trace by hand, and the order of large products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "clam/gpu.hpp"
#include "clam/kernels.hpp"
#include "clam/planner.hpp"
#include "mali/cache.hpp"

namespace clam::mali {
namespace {

/// Four by six groups, whose rows have 64 bytes each and whose columns 640.
GroupGrid small_grid(int band) { return {4, 6, 64, 640, band}; }

TEST(mali_cache, all_is_read_once_where_the_cache_holds_it) {
  for (const int band : {1, 2, 4}) {
    EXPECT_FLOAT_EQ(traced_bytes(small_grid(band), {1 << 20, 1}), 4 * 64 + 6 * 640) << band;
  }
}

/// One group at a time and no room: each reads its own. What two groups that run together share is
/// read once.
TEST(mali_cache, what_runs_at_a_time_shares_what_it_reads) {
  EXPECT_FLOAT_EQ(traced_bytes(small_grid(1), {1, 1}), 24 * (64 + 640));
  EXPECT_FLOAT_EQ(traced_bytes(small_grid(1), {704. / 64, 6}), 4 * (64 + 6 * 640));
  EXPECT_FLOAT_EQ(traced_bytes(small_grid(2), {704. / 64, 2}), 12 * (2 * 64 + 640));
}

TEST(mali_cache, groups_behind_the_last_row_read_nothing) {
  GroupGrid grid = small_grid(4);
  grid.rows = 5;
  EXPECT_FLOAT_EQ(traced_bytes(grid, {1 << 20, 8}), 5 * 64 + 6 * 640);
}

/// The grid of the problem's plan on a G610, and what that has behind its first caches.
struct Product {
  GroupGrid grid;
  SharedCache cache;
};

Product product_on_g610(const std::string& line) {
  const DeviceInfo device = gpu_device(find_gpu("g610"));
  const Plan plan = make_plan(Problem::parse(line), device, {"dense_packed"});
  const Launch& launch = plan.launches.back();
  const std::int64_t items = launch.local[0] * launch.local[1] * launch.local[2];
  return {grid_of(read_tags(KernelFiles().get("dense.cl")), launch).value(),
          shared_cache(device, static_cast<double>(items))};
}

double least_of_all_bands(Product product) {
  double least = HUGE_VAL;
  for (product.grid.band = 1; product.grid.band <= 64; product.grid.band *= 2) {
    least = std::min(least, traced_bytes(product.grid, product.cache));
  }
  return least;
}

TEST(mali_cache, large_products_read_little_more_than_in_the_best_order) {
  const struct {
    const char* line;
    double without;  ///< bytes without an order, at least, over those in the plan's
  } rows[] = {
      {"dense m=4096 n=4096 k=4096 dtype=f32", 1.5},
      {"dense m=1024 n=8192 k=1024 dtype=f32", 1.5},
      {"dense m=1024 n=1024 k=8192 dtype=f32", 1.05},  // 8 groups of columns read w together
      {"dense m=4096 n=4096 k=4096 dtype=f16 acc=chunk", 1.5},
      {"dense m=128 n=3072 k=768 dtype=f32 bias", 1.5}};
  for (const auto& [line, without] : rows) {
    SCOPED_TRACE(line);
    Product product = product_on_g610(line);
    EXPECT_GT(product.grid.band, 1);
    const double bytes = traced_bytes(product.grid, product.cache);
    EXPECT_LE(bytes, 1.3 * least_of_all_bands(product));
    EXPECT_NEAR(traffic(product.grid, product.cache) / bytes, 1, 0.4);
    product.grid.band = 1;
    EXPECT_GT(traced_bytes(product.grid, product.cache), without * bytes) << "no order was needed";
    EXPECT_NEAR(traffic(product.grid, product.cache) / traced_bytes(product.grid, product.cache), 1,
                0.4);
  }
}

/// Where the cache holds the weights, or time is not spent on memory, the order stays.
TEST(mali_cache, small_products_keep_their_order) {
  for (const char* line : {"dense m=192 n=256 k=256 dtype=f32", "dense m=1 n=4096 k=4096 dtype=f32",
                           "dense m=384 n=512 k=256 dtype=f32"}) {
    EXPECT_EQ(product_on_g610(line).grid.band, 1) << line;
  }
}

}  // namespace
}  // namespace clam::mali
