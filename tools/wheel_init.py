# SPDX-License-Identifier: MIT
"""clam's kernels, their contracts and the headers of its library, as files of this package.

The programs clam, clam-bench and clam-tests are beside pip's own.
"""
import pathlib

_HERE = pathlib.Path(__file__).parent

KERNELS = _HERE / "kernels"  # .cl files, which need no include
INCLUDE = _HERE / "include"  # clam/*.hpp
MANIFEST = _HERE / "manifest.json"  # arguments, sizes, layouts and needs of each kernel
