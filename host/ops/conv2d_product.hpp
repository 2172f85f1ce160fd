// SPDX-License-Identifier: MIT
// conv2d_product.hpp - a convolution as a product of weights and planes, and how it is cut.
#pragma once

#include <cstdint>
#include <string>

#include "clam/plan.hpp"
#include "conv2d_problem.hpp"
#include "ops/shared/accumulator.hpp"

namespace clam::conv2d_plan {

/// What conv2d_product.cl multiplies; its head says what a plane is. Distances are in elements.
struct Product {
  int groups = 1, images = 1;  ///< a launch has groups * images products
  int planes = 1, plane = 0;   ///< planes of a group, and from one to the next
  int vectors = 0;             ///< of 4 pixels, that a plane has of y
  int taps = 1, step = 0, turn = 0, phases = 1, wrap = 0;
  int columns = 1;                                   ///< planes that are columns of the filter
  int k = 0, map = 0, width = 0, row = 0, next = 0;  ///< channels of a group; y

  bool loose = false;  ///< a plane is a map of y that is no whole vectors

  /// Vectors of a plane are those of a map of y.
  bool flat() const { return vectors * 4 == map; }
  std::int64_t elements() const { return std::int64_t{groups} * images * planes * plane; }
};

/// Planes are x: for a 1x1 filter on maps of 4 pixels or more.
Product product_of_x(const Conv2d& conv);
/// Rows of x, moved by each column of the filter, whose rows are taps.
Product product_of_rows(const Conv2d& conv);
/// Maps of y, moved by each tap, those of all images side by side.
Product product_of_maps(const Conv2d& conv);

/// In what a product is stored and summed.
struct ProductKind {
  Dtype dtype;
  Acc acc;
  bool has_long_activation;  ///< that leaves no registers for two vectors of half storage

  std::int64_t weight_size() const { return acc == Acc::f32 ? 4 : 2; }
};

/// Tiles and groups, and the clocks that they are predicted to take.
struct ProductCut {
  int vectors = 1, parts = 1, lx = 16, ly = 4, range = 0;
  double clocks = 0;
};

/// The cut of the least clocks.
ProductCut choose_cut(const Product& product, const ProductKind& kind, const DeviceInfo& device,
                      const PlanOptions& wanted);

/// Bytes of the packed weights.
std::int64_t packed_bytes(const Product& product, const ProductKind& kind, int ly);

/// The buffers of a product and what follows its sum.
struct ProductArgs {
  const char *planes, *packed, *y;
  Arg b, r;
  std::string epilogue;  ///< options
};

Launch product_launch(const Product& product, const ProductKind& kind, const ProductCut& cut,
                      const DeviceInfo& device, const ProductArgs& args);

}  // namespace clam::conv2d_plan
