// SPDX-License-Identifier: MIT
// rows_again.cl - where a tile lies, computed behind its loop. Needs ROWS, and the text tile.

// The rows of a tile again. For Mesa's register allocator: written so that a compiler does not keep
// the first ones in registers through the loop over k.
void own_rows_again(Tile* tile, int own_row, int m) {
  tile->row = m - max(m - own_row, ROWS);
  tile->above = own_row - tile->row;
}
