# SPDX-License-Identifier: MIT
"""checked.py KERNELS - so many kernels that differ, each launched twice by pyopencl; prints what they leave."""
import sys

import numpy as np
import pyopencl as cl


def source(count: int) -> str:
    return "\n".join(f"""
__kernel void step_{i}(__global const float* x, __global float* y, __local float* near) {{
  const int g = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
  near[l] = x[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = near[(l + {i}) % size] * {i}.5f / (1.0f + fabs(x[g])) + near[l];
}}""" for i in range(count))


def main(count: int) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, source(count)).build()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    values = np.random.default_rng(1).standard_normal(256).astype(np.float32)
    buffers = [cl.Buffer(context, flags, hostbuf=values) for _ in range(2)]
    for turn in range(2):
        for i in range(count):
            kernel = getattr(program, f"step_{i}")
            kernel(queue, (256,), (16,), buffers[(i + turn) % 2], buffers[(i + turn + 1) % 2], cl.LocalMemory(64))
    cl.enqueue_copy(queue, values, buffers[0])
    print(values.tobytes().hex()[:64])


main(int(sys.argv[1]))
