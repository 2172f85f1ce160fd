# SPDX-License-Identifier: MIT
"""Runs on a queue of pyopencl: one problem from numpy arrays, or prepared once and enqueued often."""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple

from ._library import BadArgument, call, created, handle_of, library, options, plan_handle, plan_json, text_of

_DTYPES = {"f32": "float32", "f16": "float16", "i32": "int32"}


class Tensor(NamedTuple):
    """A tensor of a problem, and its place in its buffer. Strides and offset are in elements."""

    name: str
    dtype: str  # of numpy: "float32", "float16" or "int32"
    is_output: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    bytes: int  # that its buffer must have at least

    def laid_out(self) -> tuple[Any, Any]:
        """Zeros as they lie in the buffer, and the tensor as a view of them."""
        import numpy

        flat = numpy.zeros(self.bytes // numpy.dtype(self.dtype).itemsize, self.dtype)
        strides = [stride * flat.itemsize for stride in self.strides]
        return flat, numpy.lib.stride_tricks.as_strided(flat[self.offset:], self.shape, strides)


def _tensors(plan: Any) -> list[Tensor]:
    ffi, lib = library()
    found: list[Tensor] = []
    one = ffi.new("clam_tensor *", {"size": ffi.sizeof("clam_tensor")})
    while lib.clam_plan_tensor(plan, len(found), one, ffi.NULL) == lib.CLAM_OK:
        text = [ffi.string(word).decode() for word in (one.name, one.dtype)]
        shape, strides = (tuple(ffi.unpack(axes, one.rank)) for axes in (one.shape, one.strides))
        found.append(Tensor(text[0], _DTYPES[text[1]], bool(one.is_output), shape, strides, one.offset, one.bytes))
    return found


class Runtime:
    """Builds and enqueues on an in-order queue of pyopencl. Threads that share one wait for each other.

    `cache_dir`: where built programs are kept between processes. None: in memory alone.
    `kernel_dir`: .cl files that replace built-in ones of the same name.
    `tuned_dir`: a folder of rows that `clam tune` measured, which plans take.
    `launches_a_flush`: the queue is flushed after so many. 0: as was measured, else 8. -1: only before waits.
    """

    def __init__(self, queue: Any, cache_dir: str | None = None, kernel_dir: str | None = None,
                 tuned_dir: str | None = None, launches_a_flush: int = 0):
        handle = handle_of(queue, "CommandQueue", "the queue")
        self.queue = queue
        wanted, kept = options("clam_runtime_options", cache_dir=cache_dir, kernel_dir=kernel_dir,
                               tuned_dir=tuned_dir)
        try:
            wanted.launches_a_flush = launches_a_flush
        except (TypeError, OverflowError):
            raise BadArgument(f"launches_a_flush is a number of launches, not {launches_a_flush!r}") from None
        self._handle = created("clam_runtime", "clam_runtime_create", handle, wanted)
        del kept

    def prepare(self, text: str, variant: str | None = None, tile: str | None = None) -> Executable:
        """Plans for the queue's device, builds, and allocates."""
        return Executable(self, text, variant, tile)

    def finish(self) -> None:
        """Waits for all launches, and checks how each of them ended."""
        call("clam_finish", self._handle)


class Executable:
    """One problem, ready to run. Call it with numpy arrays, or bind buffers and enqueue it. `tensors` are the problem's."""

    def __init__(self, runtime: Runtime, text: str, variant: str | None, tile: str | None):
        self.runtime = runtime
        planned = plan_handle(text, runtime.queue.device, variant, tile)
        self._handle = created("clam_executable", "clam_prepare", runtime._handle, planned)
        self.problem = plan_json(planned)["problem"]
        self.tensors = _tensors(planned)
        self._bound: dict[str, Any] = {}

    @property
    def plan(self) -> dict[str, Any]:
        """What runs, as clam_mali.plan gives it."""
        return plan_json(library()[1].clam_executable_plan(self._handle))

    def bind(self, name: str, buffer: Any) -> None:
        """Names the pyopencl.Buffer of a tensor, which is kept until another is named. None takes it away.

        Host memory that a buffer uses goes with it: finish the runtime before you name another one.
        """
        ffi, _ = library()
        handle = ffi.NULL if buffer is None else handle_of(buffer, "MemoryObject", f"what is bound to {name!r}")
        call("clam_bind", self._handle, text_of(name, "the tensor's name"), handle)
        self._bound[name] = buffer

    def pack(self) -> None:
        """Packs the weights that are bound, and waits. Needed once, and when they change."""
        call("clam_pack", self._handle)

    def enqueue(self, wait_for: Iterable[Any] | None = None) -> Any:
        """Enqueues the launches behind the events. Gives the pyopencl.Event of the last one."""
        import pyopencl

        ffi, _ = library()
        events = [handle_of(event, "Event", "each of wait_for") for event in wait_for or ()]
        done = ffi.new("cl_event *")
        call("clam_enqueue", self._handle, len(events), ffi.new("cl_event[]", events), done)
        return pyopencl.Event.from_int_ptr(int(ffi.cast("intptr_t", done[0])), retain=False)

    def _checked(self, arrays: dict[str, Any]) -> None:
        """Raises BadArgument where the arrays are not the inputs, one by one, in dtype and shape."""
        import numpy

        inputs = {tensor.name: tensor for tensor in self.tensors if not tensor.is_output}
        if set(arrays) != set(inputs):
            raise BadArgument(f"{self.problem}: its inputs are {', '.join(inputs)}; "
                              f"given are {', '.join(arrays) or 'none'}")
        for name, tensor in inputs.items():
            array = arrays[name]
            if not isinstance(array, numpy.ndarray) or array.dtype != tensor.dtype or array.shape != tensor.shape:
                given = f"{array.dtype}{list(array.shape)}" if isinstance(array, numpy.ndarray) else type(array).__name__
                raise BadArgument(f"{self.problem}: {name} must be a numpy array {tensor.dtype}"
                                  f"{list(tensor.shape)}, not {given}")

    def __call__(self, **arrays: Any) -> dict[str, Any]:
        """Computes the outputs, by name, of numpy arrays that have the tensors' dtypes and shapes.

        Buffers that were bound before are bound again afterwards.
        """
        self._checked(arrays)
        before = dict(self._bound)
        try:
            return self._computed(arrays)
        finally:
            self.runtime.finish()
            for tensor in self.tensors:
                self.bind(tensor.name, before.get(tensor.name))

    def _computed(self, arrays: dict[str, Any]) -> dict[str, Any]:
        import pyopencl

        queue, results = self.runtime.queue, {}
        for tensor in self.tensors:
            flat, view = tensor.laid_out()
            view[...] = arrays.get(tensor.name, 0)
            flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
            buffer = pyopencl.Buffer(queue.context, flags, hostbuf=flat)
            self.bind(tensor.name, buffer)
            if tensor.is_output:
                results[tensor.name] = view, flat, buffer
        self.pack()
        self.enqueue()
        for _, flat, buffer in results.values():
            pyopencl.enqueue_copy(queue, flat, buffer)
        return {name: view.copy() for name, (view, _, _) in results.items()}


def run(queue: Any, text: str, /, variant: str | None = None, tile: str | None = None, **arrays: Any) -> dict[str, Any]:
    """Computes a problem once: inputs as numpy arrays by their names, and a dict of its outputs.

    For many calls keep Runtime(queue).prepare(text), which builds once.

    >>> import numpy, pyopencl
    >>> queue = pyopencl.CommandQueue(pyopencl.create_some_context(interactive=False))
    >>> x = numpy.array([[0, 1, 2, 3]], numpy.float32)
    >>> run(queue, "softmax shape=1x4 dtype=f32", src=x)["dst"].round(3).tolist() == \\
    ...     (numpy.exp(x) / numpy.exp(x).sum()).round(3).tolist()
    True
    """
    return Runtime(queue).prepare(text, variant, tile)(**arrays)
