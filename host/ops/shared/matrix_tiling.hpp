// SPDX-License-Identifier: MIT
// matrix_tiling.hpp - how the kernels of dense.cl and batch_matmul*.cl cut a product of matrices,
// and in which order its groups run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "geometry.hpp"
#include "tiling.hpp"

namespace clam {

/// A product, and what a kernel makes of it.
struct TiledProduct {
  std::string kernel;  ///< whose rows of costs.json apply
  int batch = 1, m = 0, n = 0, k = 0;
  int left_items = 1, right_items = 1;  ///< matrices of each operand: batch, or one for all
  Dtype dtype = Dtype::f32;
  Acc acc = Acc::f32;
  int highest = 0;          ///< rows of a tile, at most; 0: any
  int most_sums = 0;        ///< of a work-item, beside what else it holds; 0: any
  bool one_vector = false;  ///< a tile of two would hold too much
  int lanes = 16;           ///< of a group that lie along the columns, at most
  bool in_panels = false;   ///< columns are packed, and filled up to whole tiles
  double widening = 0;      ///< instructions more for a column and four k
  std::int64_t left_size = 0, right_size = 0;  ///< bytes of an element that the loop reads

  bool shares_k = false;  ///< work-items may share the k of a tile
  int most_lanes = 64;    ///< ... and each part has so many lanes of a group, at most
  double moves = 0;       ///< ... and then their loop is longer by this share of it
  /// Whether lanes of a part are best in one row, or in several. Where they are not, their loop is
  /// longer by 6 %. Empty: it makes no difference.
  std::optional<bool> best_in_one_row{};
  bool lowers_groups = false;  ///< where that leaves fewer items beyond the last row
};

/// How a kernel cuts it.
struct MatrixCut : Tiling {
  int rows = 0, columns = 0;  ///< of a tile
  int parts = 1;              ///< work-items that share the k of a tile
  Group group{};
};

/// Every tile that has a row in costs.json, whole and in parts.
std::vector<MatrixCut> matrix_cuts(const TiledProduct& product, const Request& request);

// ---- in which order groups run, and what they read from memory in it ----

/// A product y[m,n] cut into rectangles, one for each group. All groups read all of their k.
struct GroupGrid {
  std::int64_t rows = 1, columns = 1;      ///< groups
  double row_bytes = 0, column_bytes = 0;  ///< that a group reads of the left and the right matrix
  int band = 1;                            ///< rows of groups that it goes down first
};

/// What the groups share behind their first caches, and how many of them run at a time.
struct SharedCache {
  double bytes = 0, groups = 0;
};

/// Of the Mali that a device is. Both figures are assumed: 1 MiB, and 1024 work-items a core.
SharedCache shared_cache(const DeviceInfo& device, double items_of_group);

/// The bytes that they read from memory. What runs at a time, f groups of b rows and f / b columns,
/// shares what it reads. So the left matrix is read columns / (f / b) times, and the right one
/// rows / b times. Once, where b rows of groups, or all of the right matrix, fit into half the
/// cache.
double traffic(const GroupGrid& grid, const SharedCache& cache);

/// The band of up to 64 rows of groups that reads least from memory. 1 where that saves too little
/// to matter, and on a device that is no Mali. `clocks`: what the groups take, as predicted.
int choose_band(GroupGrid grid, double items_of_group, double clocks, const DeviceInfo& device);

}  // namespace clam
