// SPDX-License-Identifier: MIT
// batch_matmul_tile.cl - the tile of a work-item.

// What a work-item computes: rows from `row` on, and vectors of four columns, one every APART from
// `col` on. What it owns: all rows but the first ones, which belong to the tile above. Of a vector
// it owns the columns from `first` on that c has.
typedef struct {
  int row, above, col, first;
} Tile;

#define APART (4 * BMM_LX)

// Vectors that a tile may read even past the last of n, but not store. `last`: the last row at
// which a tile may start.
Tile tile_at(int own_row, int last) {
  const int col = (int)get_group_id(0) * (VECTORS * APART) + (int)get_local_id(0) * 4;
  const int row = min(own_row, last);
  const Tile tile = {row, own_row - row, col, 0};
  return tile;
}

// Four columns that end at the last of n; where n < 4, those past it are read, but not stored.
Tile tile_within(int own_row, int last, int n) {
  const int own_col = (int)get_global_id(0) * 4, col = max(min(own_col, n - 4), 0);
  const int row = min(own_row, last);
  const Tile tile = {row, own_row - row, col, own_col - col};
  return tile;
}
