# SPDX-License-Identifier: MIT
"""clam's kernels, their contracts, and plans of problems; with pyopencl also runs.

>>> import clam_mali as clam
>>> clam.plan("dense m=2 n=3 k=4 dtype=f32", "g610")["variant"]
'dense_packed'
>>> "__kernel" in clam.source("dense.cl")
True

The programs clam, clam-bench and clam-tests are beside pip's own. Plans need the package cffi; runs need numpy and
pyopencl too.
"""
import pathlib

from ._library import BadArgument, BuildFailed, DeviceFailed, Error, Unsupported, manifest, ops, plan, source, version
from ._run import Executable, Runtime, Tensor, run

_HERE = pathlib.Path(__file__).parent

KERNELS = _HERE / "kernels"  # .cl files, which need no include
INCLUDE = _HERE / "include"  # clam/clam.h and clam/*.hpp
MANIFEST = _HERE / "manifest.json"  # arguments, sizes, layouts and needs of each kernel

__all__ = ["BadArgument", "BuildFailed", "DeviceFailed", "Error", "Executable", "INCLUDE", "KERNELS", "MANIFEST",
           "Runtime", "Tensor", "Unsupported", "manifest", "ops", "plan", "run", "source", "version"]
