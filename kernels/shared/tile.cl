// SPDX-License-Identifier: MIT
// tile.cl - what a work-item computes, and what of it is its own. Needs ROWS, VECTORS, LX, APART, and
// COLUMN_GROUP, which of the groups along the columns it belongs to.

// A tile: ROWS rows from `row` on, and VECTORS vectors of four columns, one every APART from `col`
// on. The work-item owns, and stores, rows `above` to `below` - 1 of them. Of a vector it owns the
// columns from `first` on that the output has. own_tile moves tiles up alone: `below` is ROWS,
// and `first` is 0.
//
// For Mesa's register allocator: as many values live through the loop over k as its listing is best
// with. With one more or less, a load may cost a move more. So some are computed again behind it.
typedef struct {
  int row, above, below, col, first;
} Tile;

// The vectors of a group's work-items lie side by side, whether the output has all columns or not.
// The first row is `last` at most. Through a pointer: Oclgrind cannot take what a compiler makes of
// a struct that is returned.
void own_tile(Tile* tile, int own_row, int last) {
  const int lane = get_local_id(0);
  tile->row = min(own_row, last);
  tile->above = own_row - tile->row;
  tile->below = ROWS;
  tile->col = (int)COLUMN_GROUP * (4 * VECTORS * LX) + lane * (APART == 4 ? 4 * VECTORS : 4);
  tile->first = 0;
}

// The elements from a matrix's start to the end of `rows` rows of `row` elements.
int reach(int at, int rows, int ld, int row) { return at + (rows - 1) * ld + row; }
