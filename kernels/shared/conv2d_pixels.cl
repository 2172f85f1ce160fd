// SPDX-License-Identifier: MIT
// conv2d_pixels.cl - the end of four pixels. Needs memory and CONV2D_RESIDUAL.

// Adds `pixels` of r to v, from byte `at` on, and stores them in y; `whole`: all four, aligned.
void finish_pixels(float4 v, __global const T* r, __global T* y, uint at, int pixels, int whole) {
  __global const char* from = (__global const char*)r;
  __global char* to = (__global char*)y;
  if (whole) {
    if (CONV2D_RESIDUAL) v += load4(from, at);
    store4(v, to, at);
    return;
  }
  if (CONV2D_RESIDUAL) {
    v.x += load1(from, at);
    if (pixels > 1) v.y += load1(from, at + SIZE);
    if (pixels > 2) v.z += load1(from, at + 2 * SIZE);
    if (pixels > 3) v.w += load1(from, at + 3 * SIZE);
  }
  store1(v.x, to, at);
  if (pixels > 1) store1(v.y, to, at + SIZE);
  if (pixels > 2) store1(v.z, to, at + 2 * SIZE);
  if (pixels > 3) store1(v.w, to, at + 3 * SIZE);
}
