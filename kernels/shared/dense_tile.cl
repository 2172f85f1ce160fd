// SPDX-License-Identifier: MIT
// dense_tile.cl - the tile of a work-item.

// What a work-item computes: rows from `row` on, and vectors of four columns, one every APART from
// `col` on. What it owns: all rows but the first ones, which belong to the tile above. Of a vector
// it owns the columns from `first` on that y has.
//
// If an odd number of values lives through the loop over k, Mesa's register allocator loses a
// register, and each load costs a move more. So what is needed behind the loop is kept in an even
// number, by both versions' counts.
typedef struct {
  int row, above, col, first;
} Tile;

#define PANEL (DENSE_N0 * DENSE_LX)  // columns of a group's tiles
#define APART (ACC == 2 ? 4 : 4 * DENSE_LX)

// Columns of a panel, from a multiple of four on and all inside of it. Through a pointer: Oclgrind
// cannot take what a compiler makes of a struct that is returned.
void own_tile(Tile* tile, int m) {
  const int own_row = (int)get_global_id(1) * ROWS;
  tile->row = min(own_row, m - ROWS);
  tile->above = own_row - tile->row;
  tile->col = (int)get_group_id(0) * PANEL + (int)get_local_id(0) * (ACC == 2 ? DENSE_N0 : 4);
  tile->first = 0;
}
