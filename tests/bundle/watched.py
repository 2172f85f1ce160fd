# SPDX-License-Identifier: MIT
"""watched.py SEED LAUNCHES - random launches of three kernels by pyopencl; prints a hash of all that they leave."""
import hashlib
import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void axpy(__global float* y, __global const float* x, float a, int n) {
  const int i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
}
__kernel void blend(__global int* y, uint4 v, uchar c, ulong s) {
  const size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
  y[i] = y[i] * v.x + v.w * c + (int)(s >> 3);
}
__kernel void turn(__global const int* x, __global int* y, __local int* t) {
  const int l = get_local_id(0), s = get_local_size(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = t[s - 1 - l];
}
"""


def main(seed: int, launches: int) -> None:
    rng = np.random.default_rng(seed)
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    axpy, blend, turn = program.axpy, program.blend, program.turn

    def buffer(values: np.ndarray) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)

    reals = [buffer(rng.standard_normal(256).astype(np.float32)) for _ in range(4)]
    wholes = [buffer(rng.integers(0, 1000, 256).astype(np.int32)) for _ in range(4)]
    for _ in range(launches):
        which = rng.integers(3)
        if which == 0:
            axpy(queue, (256,), (16,), reals[rng.integers(4)], reals[rng.integers(4)],
                 np.float32(rng.standard_normal() * 0.01), np.int32(rng.integers(1, 257)))
        elif which == 1:
            blend(queue, (16, 16), None, wholes[rng.integers(4)], rng.integers(0, 9, 4).astype(np.uint32),
                  np.uint8(rng.integers(256)), np.uint64(rng.integers(1 << 60)))
        else:
            a, b = rng.choice(4, 2, replace=False)
            size = int(2 ** rng.integers(1, 6))
            turn(queue, (256,), (size,), wholes[a], wholes[b], cl.LocalMemory(4 * size))
    left = hashlib.sha256()
    for each in reals + wholes:
        values = np.empty(256, np.int32)
        cl.enqueue_copy(queue, values, each)
        left.update(values.tobytes())
    print(left.hexdigest())


main(int(sys.argv[1]), int(sys.argv[2]))
