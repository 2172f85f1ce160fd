# SPDX-License-Identifier: MIT
"""Runs on a queue of pyopencl: one problem from numpy arrays, or prepared once and enqueued often."""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple

from ._library import BadArgument, call, created, library, options, plan_handle, plan_json

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
    """Builds and enqueues on an in-order queue of pyopencl. It belongs to one thread at a time.

    `cache_dir`: where built programs are kept between processes. None: in memory alone.
    `kernel_dir`: .cl files that replace built-in ones of the same name.
    """

    def __init__(self, queue: Any, cache_dir: str | None = None, kernel_dir: str | None = None):
        ffi, _ = library()
        self.queue = queue
        wanted, kept = options("clam_runtime_options", cache_dir=cache_dir, kernel_dir=kernel_dir)
        self._handle = created("clam_runtime", "clam_runtime_destroy", lambda out: call(
            "clam_runtime_create", ffi.cast("cl_command_queue", queue.int_ptr), wanted, out))
        del kept

    def prepare(self, text: str, variant: str | None = None, tile: str | None = None) -> Executable:
        """Plans for the queue's device, builds, and allocates."""
        return Executable(self, text, variant, tile)

    def finish(self) -> None:
        """Waits for all launches, and checks how each of them ended."""
        call("clam_finish", self._handle)


class Executable:
    """One problem, ready to run. Call it with numpy arrays, or bind buffers and enqueue it.

    `tensors` are the problem's; `plan` is what runs, as clam_mali.plan gives it.
    """

    def __init__(self, runtime: Runtime, text: str, variant: str | None, tile: str | None):
        _, lib = library()
        self.runtime = runtime
        planned = plan_handle(text, runtime.queue.device, variant, tile)
        self._handle = created("clam_executable", "clam_executable_destroy",
                               lambda out: call("clam_prepare", runtime._handle, planned, out))
        self.tensors = _tensors(planned)
        self.plan = plan_json(lib.clam_executable_plan(self._handle))

    def bind(self, name: str, buffer: Any) -> None:
        """Names the pyopencl.Buffer of a tensor. It must not be released while it is bound."""
        ffi, _ = library()
        call("clam_bind", self._handle, name.encode(), ffi.cast("cl_mem", buffer.int_ptr))

    def pack(self) -> None:
        """Packs the weights that are bound, and waits. Needed once, and when they change."""
        call("clam_pack", self._handle)

    def enqueue(self, wait_for: Iterable[Any] = ()) -> Any:
        """Enqueues the launches behind the events. Gives the pyopencl.Event of the last one."""
        import pyopencl

        ffi, _ = library()
        events = [ffi.cast("cl_event", event.int_ptr) for event in wait_for]
        done = ffi.new("cl_event *")
        call("clam_enqueue", self._handle, len(events), ffi.new("cl_event[]", events), done)
        return pyopencl.Event.from_int_ptr(int(ffi.cast("intptr_t", done[0])), retain=False)

    def _checked(self, arrays: dict[str, Any]) -> None:
        """Raises BadArgument where the arrays are not the inputs, one by one, in dtype and shape."""
        import numpy

        inputs = {tensor.name: tensor for tensor in self.tensors if not tensor.is_output}
        if set(arrays) != set(inputs):
            raise BadArgument(f"{self.plan['problem']}: its inputs are {', '.join(inputs)}; "
                              f"given are {', '.join(arrays) or 'none'}")
        for name, tensor in inputs.items():
            array = arrays[name]
            if not isinstance(array, numpy.ndarray) or array.dtype != tensor.dtype or array.shape != tensor.shape:
                given = f"{array.dtype}{list(array.shape)}" if isinstance(array, numpy.ndarray) else type(array).__name__
                raise BadArgument(f"{self.plan['problem']}: {name} must be a numpy array {tensor.dtype}"
                                  f"{list(tensor.shape)}, not {given}")

    def __call__(self, **arrays: Any) -> dict[str, Any]:
        """Computes the outputs, by name, of numpy arrays that have the tensors' dtypes and shapes."""
        import pyopencl

        self._checked(arrays)
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
        self.runtime.finish()
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
