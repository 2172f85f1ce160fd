#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stands in for Arm's offline compiler: prints a stored report for a file that it can read and that
# holds what the options defined, else an error.
set -euo pipefail
[[ "$1 $2 $3 $4 $5" == "--format json -c Mali-G610 --opencl" ]] || { echo "bad arguments: $*" && exit 1; }
grep -q "^#define BMM_M0 6$" "$6" || { echo "no report without its options" && exit 1; }
echo "a line before the report"
cat "$CLAM_FAKE_LISTINGS/malioc_softmax.json"
