# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# checks.sh - how a script of tests judges and ends; it is sourced, never run.

passed=0 failed=0 skipped=0

# check NAME COMMAND...: a test that passes when COMMAND does.
check() {
  if "${@:2}"; then
    echo "ok      $1"
    passed=$((passed + 1))
  else
    echo "FAILED  $1"
    failed=$((failed + 1))
  fi
}

# rows_are_right FILE: of what clam-bench printed, every row was measured, and each that failed is INVALID
# for its time (conditions 1, 4 and 5), which other programs can spoil.
rows_are_right() {
  local failed
  failed=$(sed -nE 's/^[0-9]+ passed, ([0-9]+) failed, 0 skipped$/\1/p' "$1" | tail -n 1)
  [[ -n $failed && $(grep -cE 'INVALID [^:]*: condition [145],' "$1") == "$failed" ]]
}

# count_rows: how many rows the table on standard input sums up.
count_rows() {
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, 0 skipped$/\1 \2/p' | awk 'END { print $1 + $2 }'
}

# skip TEXT: what could not run, and why.
skip() {
  echo "skipped $1"
  skipped=$((skipped + 1))
}

# The last line is the sum. Exit code: 0 fine, 1 a check failed, 77 nothing ran.
finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [[ $failed == 0 ]] || exit 1
  [[ $passed != 0 ]] || exit 77
  exit 0
}
