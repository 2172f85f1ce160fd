# SPDX-License-Identifier: MIT
"""through_clam.py [PLANS [KERNELS]]: the package clam_mali, with pyopencl. With PLANS it runs the problem of each plan of that folder
through the package, and holds it against numpy; .cl files of KERNELS replace built-in ones. Without, it tries the package's own examples, buffers and refusals."""
import doctest, sys
import clam_mali as clam, numpy as np, pyopencl as cl
import drop_in

queue = cl.CommandQueue(cl.create_some_context(interactive=False))
DENSE = "dense m=3 n=5 k=4 dtype=f32 bias ldx=6 offx=2"
x, w, b = (drop_in.random.normal(size=size).astype(np.float32) for size in ((3, 4), (5, 4), 5))

def refused(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError(f"nothing was raised that says '{words}'")

def examples():
    for module in (clam, clam._library, clam._run):
        found = doctest.testmod(module)
        assert found.failed == 0 and found.attempted > 0, module.__name__

def arrays():
    y = clam.run(queue, DENSE, x=x, w=np.asfortranarray(w), b=b)["y"]
    np.testing.assert_allclose(y, x @ w.T + b, 1e-5)
    assert clam.plan(DENSE, queue.device)["launches"] and clam.plan(DENSE, {"name": "a device", "compute_units": 2})["launches"]

def buffers():
    """A call that is prepared once, on buffers and events of the caller."""
    dense = clam.Runtime(queue).prepare(DENSE)
    held, places = {}, {tensor.name: tensor for tensor in dense.tensors}
    for name, value in {"x": x, "w": w, "b": b, "y": np.zeros((3, 5), np.float32)}.items():
        flat, view = places[name].laid_out()
        view[...] = value
        held[name] = cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=flat)
        dense.bind(name, held[name])
    dense.pack()
    gate = cl.UserEvent(queue.context)
    done = dense.enqueue([gate])
    gate.set_status(cl.command_execution_status.COMPLETE)
    y = np.empty((3, 5), np.float32)
    cl.enqueue_copy(queue, y, held["y"], wait_for=[done])
    np.testing.assert_allclose(y, x @ w.T + b, 1e-5)
    dense.runtime.finish()

def threads():
    """The first use comes from many threads at once; executables go away in any of them."""
    import threading
    start, wrong = threading.Barrier(4), []
    def work():
        own = cl.CommandQueue(queue.context)
        start.wait()
        try:
            for _ in range(5):
                y = clam.run(own, DENSE, x=x, w=w, b=b)["y"]
                np.testing.assert_allclose(y, x @ w.T + b, 1e-5)
        except BaseException as error:
            wrong.append(error)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    runtime, kept = clam.Runtime(queue), [None]
    for _ in range(10):  # each goes away in a thread of its own, while the next one runs
        y = runtime.prepare(DENSE)
        dropper = threading.Thread(target=lambda old=kept.pop(): None)
        dropper.start()
        np.testing.assert_allclose(y(x=x, w=w, b=b)["y"], x @ w.T + b, 1e-5)
        kept.append(y)
        dropper.join()
    for worker in workers:
        worker.join()
    assert not wrong, wrong

def lifetimes():
    """Bound buffers keep the host memory that they use; a call gives back what was bound."""
    dense = clam.Runtime(queue).prepare(DENSE)
    places = {tensor.name: tensor for tensor in dense.tensors}
    def used(name, value):
        flat, view = places[name].laid_out()
        view[...] = value
        return cl.Buffer(queue.context, cl.mem_flags.USE_HOST_PTR, hostbuf=flat)
    result = used("y", 0)
    for name, value in {"x": x, "w": w, "b": b}.items():
        dense.bind(name, used(name, value))
    dense.bind("y", result)
    np.testing.assert_allclose(dense(x=x, w=w, b=b)["y"], x @ w.T + b, 1e-5)
    dense.pack()
    dense.enqueue(None)
    dense.runtime.finish()
    y = np.empty((3, 5), np.float32)
    cl.enqueue_copy(queue, y, result)
    np.testing.assert_allclose(y, x @ w.T + b, 1e-5)

def refusals():
    refused(clam.BadArgument, "its inputs are x, w, b", lambda: clam.run(queue, DENSE, x=x, w=w))
    refused(clam.BadArgument, "given are x, w, b, z", lambda: clam.run(queue, DENSE, x=x, w=w, b=b, z=b))
    refused(ValueError, "x must be a numpy array float32[3, 4], not float64[3, 4]",
            lambda: clam.run(queue, DENSE, x=x.astype(float), w=w, b=b))
    refused(clam.BadArgument, "not float32[4, 3]", lambda: clam.run(queue, DENSE, x=x.T, w=w, b=b))
    refused(clam.BadArgument, "not list", lambda: clam.run(queue, DENSE, x=x.tolist(), w=w, b=b))
    refused(clam.BadArgument, "unknown op 'matmul'", lambda: clam.plan("matmul m=3"))
    refused(clam.BadArgument, "not int", lambda: clam.plan(7))
    refused(clam.BadArgument, "one with a zero", lambda: clam.plan(DENSE + "\0"))
    refused(clam.BadArgument, "must be a pyopencl.Device, not CommandQueue", lambda: clam.plan(DENSE, queue))
    refused(clam.BadArgument, "must be a pyopencl.CommandQueue, not Context", lambda: clam.Runtime(queue.context))
    refused(clam.BadArgument, "kernel_dir", lambda: clam.Runtime(queue, kernel_dir="/nowhere"))
    refused(clam.BadArgument, "tuned_dir", lambda: clam.Runtime(queue, tuned_dir="/nowhere"))
    refused(clam.BadArgument, "tuned_dir", lambda: clam.plan(DENSE, tuned_dir="/nowhere"))
    refused(clam.BadArgument, "negative", lambda: clam.Runtime(queue, launches_a_flush=-2))
    for launches in 2**40, 1.5, "8":
        refused(clam.BadArgument, "a number of launches", lambda: clam.Runtime(queue, launches_a_flush=launches))
    refused(clam.BadArgument, "variant is a text, not int", lambda: clam.plan(DENSE, variant=7))
    dense = clam.Runtime(queue, kernel_dir=clam.KERNELS, launches_a_flush=1).prepare(DENSE)
    refused(clam.BadArgument, "must be a pyopencl.MemoryObject, not ndarray", lambda: dense.bind("x", x))
    refused(clam.BadArgument, "must be a pyopencl.Event, not Context", lambda: dense.enqueue([queue.context]))
    refused(clam.BadArgument, "g1", lambda: clam.plan(DENSE, "g1"))
    refused(clam.BadArgument, "no kernel file 'a.cl'", lambda: clam.source("a.cl"))
    refused(clam.BadArgument, "call clam_pack first", clam.Runtime(queue).prepare(DENSE).enqueue)

def every_plan(plans, kernels=None):
    runtime = clam.Runtime(queue, kernel_dir=kernels)
    for plan in drop_in.plans_in(plans):
        drop_in.check(plan, lambda inputs: runtime.prepare(plan["problem"], plan["variant"])(**inputs))

if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(every_plan(*sys.argv[1:]))
    for test in threads, examples, arrays, buffers, lifetimes, refusals:
        test()
        print("pass", test.__name__)
