# SPDX-License-Identifier: MIT
"""libclam.so by cffi: what clam.h declares, with errors as exceptions. It needs no device and no pyopencl."""
from __future__ import annotations

import json
import os
import pathlib
import sys
import threading
from typing import Any

_HERE = pathlib.Path(__file__).parent
_OPENCL = "".join(f"typedef struct _{name} *{name};" for name in ("cl_mem", "cl_event", "cl_device_id", "cl_command_queue"))


class Error(RuntimeError):
    """What clam refuses or fails at, in one sentence. `cl_status` is OpenCL's; 0 if it did not fail."""

    cl_status = 0


class BadArgument(Error, ValueError):
    """The caller's input is wrong. Nothing was launched."""


class Unsupported(Error):
    """This device cannot run the problem, for the reason given."""


class BuildFailed(Error):
    """A kernel did not build. The text has the driver's log."""


class DeviceFailed(Error):
    """OpenCL or its driver failed. Later calls of that Runtime fail too."""


_lock = threading.Lock()
_loaded: tuple[Any, Any] | None = None

_ERRORS = {1: BadArgument, 2: Unsupported, 3: BuildFailed, 4: DeviceFailed}


def library() -> tuple[Any, Any]:
    """cffi's FFI, and the library. Both are loaded at the first call."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def _load() -> tuple[Any, Any]:
    try:
        import cffi
    except ImportError:
        raise Error("clam_mali needs the package cffi here: install it (pip install cffi, or python3-cffi)") from None
    ffi = cffi.FFI()
    header = (_HERE / "include" / "clam" / "clam.h").read_text(encoding="utf-8")
    ffi.cdef(_OPENCL + header.split("/* cffi begins */")[1].split("/* cffi ends */")[0])
    try:
        return ffi, ffi.dlopen(str(_HERE / "libclam.so"))
    except OSError as error:
        raise Error(f"libclam.so cannot be loaded; install the library that is named here: {error}") from None


def text_of(value: Any, what: str) -> bytes:
    """The value for C. Raises BadArgument where it is no text."""
    if not isinstance(value, str) or "\0" in value:
        raise BadArgument(f"{what} is a text, not {type(value).__name__ if not isinstance(value, str) else 'one with a zero'}")
    return value.encode(errors="surrogateescape")


def handle_of(value: Any, kind: str, what: str) -> Any:
    """The cl_... of an object of pyopencl's class `kind`. Raises BadArgument for another object."""
    opencl = sys.modules.get("pyopencl")
    if opencl is None or not isinstance(value, getattr(opencl, kind)):
        raise BadArgument(f"{what} must be a pyopencl.{kind}, not {type(value).__name__}")
    names = {"Device": "cl_device_id", "CommandQueue": "cl_command_queue", "MemoryObject": "cl_mem", "Event": "cl_event"}
    return library()[0].cast(names[kind], value.int_ptr)


def call(function: str, *arguments: Any) -> None:
    """Calls what returns a clam_status and takes an error last. Raises what the status says."""
    ffi, lib = library()
    error = ffi.new("clam_error *", {"size": ffi.sizeof("clam_error")})
    status = getattr(lib, function)(*arguments, error)
    if status != lib.CLAM_OK:
        raised = _ERRORS.get(status, Error)(ffi.string(error.text).decode(errors="replace"))
        raised.cl_status = error.cl_status
        raise raised


def options(struct: str, **values: Any) -> tuple[Any, list]:
    """A struct of options with its size, and what must be kept alive as long as it is used."""
    ffi, _ = library()
    kept = {name: ffi.new("char[]", os.fsencode(value) if isinstance(value, os.PathLike) else text_of(value, name))
            for name, value in values.items() if value is not None}
    made = ffi.new(struct + " *", {"size": ffi.sizeof(struct), **kept})
    return made, list(kept.values())


def created(struct: str, create: str, *arguments: Any) -> Any:
    """A handle that the function `create` of clam.h fills in, destroyed when it is collected."""
    ffi, lib = library()
    out = ffi.new(struct + " **")
    call(create, *arguments, out)
    return ffi.gc(out[0], getattr(lib, struct + "_destroy"))


def plan_handle(text: str, device: Any = None, variant: str | None = None, tile: str | None = None,
                tuned_dir: str | None = None) -> Any:
    """A clam_plan *, for the device that `plan` names."""
    ffi, _ = library()
    problem = text_of(text, "the problem")
    wanted, kept = options("clam_plan_options", variant=variant, tile=tile, tuned_dir=tuned_dir)
    facts, here = ffi.NULL, ffi.NULL
    if isinstance(device, (str, dict)):
        facts = ffi.new("char[]", text_of(device if isinstance(device, str) else json.dumps(device), "the device"))
    elif device is not None:
        here = handle_of(device, "Device", "the device")
    handle = created("clam_plan", "clam_plan_create", problem, here, facts, wanted)
    del kept
    return handle


def plan_json(handle: Any) -> dict[str, Any]:
    ffi, lib = library()
    return json.loads(ffi.string(lib.clam_plan_json(handle)))


def version() -> str:
    """The version of clam: "0.1.0"."""
    ffi, lib = library()
    return ffi.string(lib.clam_version()).decode()


def ops() -> list[dict[str, Any]]:
    """All ops: name, about, fields, and variants in order of preference.

    >>> [op["name"] for op in ops()][:2]
    ['dense', 'batch_matmul']
    """
    ffi, lib = library()
    return json.loads(ffi.string(lib.clam_ops()))["ops"]


def manifest() -> dict[str, Any]:
    """The contracts of all kernels: arguments, sizes, layouts, defines and needs.

    >>> "dense.cl" in [file["file"] for file in manifest()["files"]]
    True
    """
    ffi, lib = library()
    return json.loads(ffi.string(lib.clam_manifest()))


def source(file: str) -> str:
    """The text of a kernel file. It needs no include.

    >>> source("softmax.cl").startswith("// SPDX-License-Identifier: MIT")
    True
    """
    ffi, lib = library()
    text = lib.clam_source(text_of(file, "the file"))
    if text == ffi.NULL:
        raise BadArgument(f"there is no kernel file {file!r}; manifest() lists them")
    return ffi.string(text).decode()


def plan(text: str, device: Any = None, variant: str | None = None, tile: str | None = None,
         tuned_dir: str | None = None) -> dict[str, Any]:
    """How a problem is computed: its launches, with kernels, options, sizes and arguments.

    `device`: a pyopencl.Device, a key such as "g610", or the facts of a device as a dict. None: a generic one.
    `tuned_dir`: a folder of rows that `clam tune` measured.

    >>> made = plan("softmax shape=4x192 dtype=f32")
    >>> [tensor["name"] for tensor in made["tensors"]], made["launches"][0]["file"]
    (['src', 'dst'], 'softmax.cl')
    """
    return plan_json(plan_handle(text, device, variant, tile, tuned_dir))
