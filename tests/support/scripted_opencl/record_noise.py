#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# record_noise.py COUNT ROUNDS > noise.json - what other work adds to launches and waits on this machine,
# for the scripted device to play again. ROUNDS make a launch long. Needs python3-pyopencl.
import json
import sys
import time

import numpy
import pyopencl as cl

ITEMS = 4096
SOURCE = """
__kernel void work(__global float* dst, int rounds) {
  float x = get_global_id(0);
  for (int i = 0; i < rounds; ++i) x = native_sqrt(x + 1.0f);
  dst[get_global_id(0)] = x;
}
"""


def launch(queue, kernel, dst, rounds):
    """Microseconds of the event, and of the host beside them."""
    start = time.perf_counter_ns()
    event = kernel(queue, (ITEMS,), (64,), dst, numpy.int32(rounds))
    queue.flush()
    event.wait()
    wall_us = (time.perf_counter_ns() - start) / 1e3
    event_us = (event.profile.end - event.profile.start) / 1e3
    return event_us, wall_us - event_us


def main():
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    kernel = cl.Program(context, SOURCE).build().work
    dst = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * ITEMS)
    launch(queue, kernel, dst, rounds)  # builds
    times = [launch(queue, kernel, dst, rounds) for _ in range(count)]
    # What a launch takes alone: a hundredth of them took less.
    alone = [sorted(side)[count // 100] for side in zip(*times)]
    delays = [[round(max(0, t - a), 1) for t, a in zip(pair, alone)] for pair in times]
    record = {"device": context.devices[0].name, "alone_us": [round(a, 1) for a in alone]}
    print(json.dumps(record)[:-1] + ',\n "device_and_wait_us": [')
    print(",\n".join("  " + ", ".join(map(json.dumps, delays[i:i + 8])) for i in range(0, count, 8)))
    print("]}")


main()
