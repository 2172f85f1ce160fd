// SPDX-License-Identifier: MIT
// merge_lanes.cl - elements in one piece, merged by LANES items. Needs T, SIZE, LANES, load1, load4,
// START, TERM, MERGE and merge4.

// What lane `lane` has of n elements from number `first` on, which may start anywhere. Up to three
// before the first aligned vector, and up to three behind the last, are single ones.
float merge_piece(__global const T* x, uint first, uint n, uint lane) {
  const uint head = min(-first & 3, n), vectors = (n - head) / 4;
  const uint tail = n - head - vectors * 4, body = (first + head) * SIZE;
  float4 all = (float4)(START);
  for (uint i = lane; i < vectors; i += LANES) {
    const float4 v = load4(x, body + i * (4 * SIZE));
    all = MERGE(all, TERM(v));
  }
  float own = merge4(all);
  if (lane < head) {
    const float v = load1(x, (first + lane) * SIZE);
    own = MERGE(own, TERM(v));
  }
  if (lane < tail) {
    const float v = load1(x, body + (vectors * 4 + lane) * SIZE);
    own = MERGE(own, TERM(v));
  }
  return own;
}

// What the LANES items of a row have found, merged. `row` is the row's number in the group. All
// items of the group must call it.
float merge_lanes(float own, __local float4* partials, uint row, uint lane) {
  ((__local float*)partials)[row * LANES + lane] = own;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's result is there
  __local const float4* of_row = partials + row * (LANES / 4);
  float4 merged = of_row[0];
  for (int i = 1; i < LANES / 4; ++i) {
    const float4 v = of_row[i];
    merged = MERGE(merged, v);
  }
  return merge4(merged);
}
