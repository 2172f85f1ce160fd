#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# onnx_test.sh [WORD...] - tests of tools/import-onnx, or those whose name has a WORD (with _ for blanks).
#
# They run in the virtual environment of tools/setup onnx; without it nothing can run. Each imports into a
# temporary folder, and computes what was written by formulas of its own, in double precision.
# CLAM_ONNX_MODELS: the folder "models" of the package rapidocr-onnxruntime, whose networks are tested too.
# One line a test, and the sum as the last line. Exit code: 0 fine, 1 a test failed, 77 nothing could run.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR/../../tools source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
python=$(onnx_python)
if [[ ! -x $python ]]; then
  echo "skipped tools/import-onnx: its packages are not here (tools/setup onnx)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 77
fi
exec "$python" -B -W ignore "$tree/tests/tools/onnx/run.py" "$@"
