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

# fetch_models: the networks of a package, once, into the folder of the virtual environments. Complete or not at all.
fetch_models() {
  local name=rapidocr-onnxruntime version=1.4.4 base folder
  base=$(dirname "$(dirname "$(dirname "$python")")") folder=$base/$name-$version
  if [[ ! -d $folder ]]; then
    rm -rf "$folder.partial"
    "$python" -m pip download -q --no-deps -d "$folder.partial" "$name==$version" >&2 &&
      "$python" -m zipfile -e "$folder.partial"/*.whl "$folder.partial" && mv -T "$folder.partial" "$folder" ||
      return 1
  fi
  echo "$folder/rapidocr_onnxruntime/models"
}
if [[ -n ${CLAM_TEST_FULL:-}${CLAM_TEST_WEEKLY:-} && -z ${CLAM_ONNX_MODELS:-} ]]; then
  CLAM_ONNX_MODELS=$(fetch_models) || CLAM_ONNX_MODELS=
  export CLAM_ONNX_MODELS
fi
exec "$python" -B -W ignore "$tree/tests/tools/onnx/run.py" "$@"
