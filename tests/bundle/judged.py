# SPDX-License-Identifier: MIT
"""judged.py - five kernels of other people's kinds, each launched once by pyopencl; prints what they leave."""
import numpy as np
import pyopencl as cl

SOURCE = """
#define TILE 8
typedef float real;
__kernel void product(int m, int n, int k, __global const real* a, __global const real* b, __global real* c) {
  const int row = get_global_id(1), column = get_global_id(0);
  real sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  if (row < m && column < n) c[row * n + column] = sum;
}
__kernel void soften(__global const float* x, __global float* y, __local float* part, int n) {
  const int l = get_local_id(0), row = get_group_id(0), size = get_local_size(0);
  float sum = 0.0f;
  for (int i = l; i < n; i += size) sum += exp(x[row * n + i]);
  part[l] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = size / 2; half_size > 0; half_size /= 2) {
    if (l < half_size) part[l] += part[l + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = l; i < n; i += size) y[row * n + i] = exp(x[row * n + i]) / part[0];
}
__kernel void turned(__global const float4* x, __global float4* y, int rows, int columns) {
  const int i = get_global_id(0), j = get_global_id(1);
  y[i * rows + j] = x[j * columns + i].wzyx;
}
__kernel void counted(__global const uint* keys, __global uint* counts) {
  atomic_inc(&counts[keys[get_global_id(0)] % TILE]);
}
__kernel void smoothed(__global const float* x, __global float* y, float by) {
  const int i = get_global_id(0), last = get_global_size(0) - 1;
  y[i] = mad(by, x[max(i - 1, 0)] + x[min(i + 1, last)], x[i] * (1.0f - 2.0f * by));
}
"""


def main() -> None:
    rng = np.random.default_rng(1)
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()

    def reals(count: int) -> cl.Buffer:
        return whole(rng.standard_normal(count).astype(np.float32))

    def whole(values: np.ndarray) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)

    x, y, z = reals(1024), reals(1024), reals(1024)
    program.product(queue, (16, 16), (8, 8), np.int32(15), np.int32(16), np.int32(60), x, y, z)
    program.soften(queue, (8 * 16,), (16,), z, y, cl.LocalMemory(64), np.int32(100))
    program.turned(queue, (8, 16), None, y, x, np.int32(16), np.int32(8))
    counts = whole(np.zeros(8, np.uint32))
    program.counted(queue, (500,), None, whole(rng.integers(0, 1 << 30, 500).astype(np.uint32)), counts)
    program.smoothed(queue, (1000,), None, x, z, np.float32(0.3))
    for buffer, kind in ((z, np.float32), (counts, np.uint32)):
        values = np.empty(8, kind)
        cl.enqueue_copy(queue, values, buffer)
        print(values)


main()
