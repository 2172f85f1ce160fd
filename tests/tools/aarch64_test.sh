#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# aarch64_test.sh [--all] - the archive for aarch64 boards, built, unpacked elsewhere and run there.
#
# Without --all it is built without clam-tests, one op is verified in each dtype, and no row is timed.
# It is built as tools/package builds it, in build-aarch64/ or the folder of CLAM_TEST_AARCH64,
# and runs on llvmpipe (tools/with-driver arm64). Where that is emulated, a process that compiles takes
# half a minute, so they run beside one another, one a core, and are judged at the end.
# One line a test, and the sum as the last line; 77 and a sentence where nothing could run.
# shellcheck disable=SC2317  # `check` calls what it is given
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$tree/tests/tools/checks.sh"
all='' programs=(clam clam-bench)
if [[ ${1:-} == --all ]]; then all=1 programs+=(clam-tests); fi
box=$(mktemp -d) # a folder elsewhere
clam=            # the top folder of the archive, unpacked there
trap 'rm -rf "$box"' EXIT

main() {
  local archive code=0 can_run=1
  local -a flags=()
  [[ $all ]] || flags+=(--no-tests)
  [[ -z ${CLAM_TEST_AARCH64:-} ]] || flags+=("$CLAM_TEST_AARCH64")
  archive=$("$tree/tools/package" "${flags[@]}" | sed -n 1p) || code=$?
  [[ $code != 77 ]] || { skipped=1 && finish; }
  [[ $code == 0 ]] || { echo "FAILED  the archive is built" && failed=1 && finish; }
  "$tree/tools/with-driver" --check arm64 || can_run=
  mkdir "$box/unpacked" && cd "$box/unpacked"
  cmake -E tar xf "$archive"
  clam=$PWD/$(basename "$archive" .tar.zst)
  [[ -z $can_run ]] || start_all
  check_archive
  if [[ -n $can_run ]]; then check_runs; else skip "what runs the programs"; fi
  finish
}

# ---- the archive --------------------------------------------------------------------------------

check_archive() {
  local program foreign=${XDG_CACHE_HOME:-$HOME/.cache}/clam/drivers/mesa-debian13-arm64/usr/lib
  check "the archive has one top folder, and in it what the README names" has_its_files
  for program in "${programs[@]/#/bin/}" lib/clam/libclam_watch.so; do
    check "$(basename "$program") needs glibc 2.31 at most" needs_little "$clam/$program"
  done
  check "the package and the wheel have the same programs" has_others
  for program in clam clam-bench; do
    check "$program names no folder of the machine that built it" lacks_paths "$clam/bin/$program"
  done
  [[ ! -d $foreign ]] || check "a library that needs more is seen" \
    refuses needs_little "$foreign/aarch64-linux-gnu/libRusticlOpenCL.so.1"
}

has_its_files() {
  local file
  [[ $(ls "$box/unpacked") == clam-*-linux-aarch64 ]] || return
  for file in "${programs[@]/#/bin/}" lib/clam/libclam_watch.so share/clam/{manifest.json,kernels/{dense.cl,README.md}} \
    share/clam/tools/{with-driver,setup,lib.sh,roots.sh,packages.txt,mali/loader.c} \
    share/doc/clam/{README.md,kernels/{FIGURES,CHANGELOG,LIFTING}.md,{kernels,host,bench,tools,tests}/README.md,LICENSE,CHANGELOG.md,licences/benchmark}; do
    [[ -f $clam/$file ]] || { echo "  $file is missing" && return 1; }
  done
}

has_others() {
  local other
  for other in deb whl; do
    [[ $other != whl ]] || python3 -c 'import wheel' 2>/dev/null || continue
    mkdir -p "$box/$other"
    (cd "$box/$other" && case $other in
      deb) dpkg-deb -x "$(dirname "$archive")"/clam_*.deb . ;;
      whl) cmake -E tar xf "$(dirname "$archive")"/clam_mali-*.whl ;;
    esac) || return
    cmp -s "$clam/bin/clam" "$(find "$box/$other" -name clam -path '*/bin/*' -o -name clam -path '*/scripts/*')" ||
      { echo "  another clam in the .$other" && return 1; }
  done
}

# needs_little FILE: no other shared library, no newer glibc, no folder to look for libraries in.
needs_little() {
  local more
  aarch64-linux-gnu-readelf -d "$1" | grep -q 'NEEDED.*libc.so.6' || return
  more=$(
    aarch64-linux-gnu-readelf -d "$1" | sed -nE 's/.*\((NEEDED|R.*PATH)\).*\[(.*)\]/\2/p' |
      grep -vxE 'ld-linux-aarch64.so.1|lib(c|m|pthread|dl|rt|util).so.[0-9]' || true
    aarch64-linux-gnu-readelf -V "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | awk -F '[_.]' '$2 > 2 || $3 > 31'
  )
  [[ -z $more ]] || { echo "  it needs ${more//$'\n'/ }" && return 1; }
}

lacks_paths() { ! grep -qaF -e "$tree" -e "${CLAM_TEST_AARCH64:-$tree}" -e "$HOME/" "$1"; }

refuses() { ! "$@" >/dev/null; }

# ---- what runs ----------------------------------------------------------------------------------

# problems DTYPE: small ones of six ops; without --all one, whose program is soon built.
# softmax is the last, for its kernel is broken below.
problems() {
  local line
  local -a lines=("dense m=5 n=9 k=8 bias act=relu" "batch_matmul batch=2 m=8 n=8 k=8"
    "conv2d c=4 h=6 w=6 k=4 r=3 pad=1" "nms n=50 iou_threshold=0.5" "get_valid_counts n=50 score_threshold=0.1"
    "softmax shape=2x9")
  [[ $all ]] || lines=("${lines[-1]}")
  for line in "${lines[@]}"; do echo "$line dtype=$1"; done
}

# Tests that build few programs: a program takes the emulator some seconds.
smoke='tensor.*:npy.*:device_device.*:program_cache_device.*:runtime_device.*:problem.*:plan_json.*'

# The first compilation of a process takes the longest, and programs built by one process are there
# for the next: so the processes are few, and those that take longest come first.
start_all() {
  local -a f32 f16
  mapfile -t f32 < <(problems f32)
  mapfile -t f16 < <(problems f16)
  mkdir "$box/kernels"
  sed 's|1.0f / sum|2.0f / sum|' "$clam/share/clam/kernels/softmax.cl" >"$box/kernels/softmax.cl"
  [[ -z $all ]] || start bench bin/clam-bench --benchmark_min_time=0.01 --problem "dense m=5 n=9 k=8 bias act=relu dtype=f32"
  start verify_f32 bin/clam verify "${f32[@]}"
  start verify_f16 bin/clam verify "${f16[@]}"
  [[ -z $all ]] || start tests bin/clam-tests --gtest_filter="$smoke"
  CLAM_KERNEL_DIR=$box/kernels start broken bin/clam verify "${f16[-1]}" --set zero_mean
  start doctor bin/clam doctor
  start probe bin/clam probe local-atomic --limit 1000 # a busy machine is no hang
  start info bin/clam info
  start devices bin/clam-bench --list-devices
  wait
}

# start NAME PROGRAM...: as soon as a core is free; leaves NAME.out, NAME.err and NAME.code.
start() {
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
  (
    code=0
    CLAM_CACHE_DIR=$box/cache timeout 3600 "$clam/share/clam/tools/with-driver" arm64 "$clam/$2" "${@:3}" \
      >"$box/$1.out" 2>"$box/$1.err" || code=$?
    echo "$code" >"$box/$1.code"
  ) &
}

# The row, whatever else the machine does: a time alone makes none a failure.
row_is_measured() {
  [[ $(cat "$box/bench.code") =~ ^[01]$ && $(count_rows <"$box/bench.out") == 1 ]] &&
    rows_are_right "$box/bench.out" && return
  cat "$box/bench.out" "$box/bench.err"
  return 1
}

check_runs() {
  local tests each=1
  [[ -z $all ]] || each=6
  check "info shows the stand-in with fp16" says info 0 'fp16: *true'
  check "verify holds ops in f32" says verify_f32 0 "^$each passed, 0 failed, 0 skipped\$"
  check "verify holds ops in f16" says verify_f16 0 "^$each passed, 0 failed, 0 skipped\$"
  check "doctor ends with a launch that is right" says doctor 0 'self-test +softmax .*: right'
  check "a probe runs" says probe 0 '^OK +local-atomic'
  check "a broken kernel fails" says broken 1 'softmax'
  check "the bench sees the stand-in" says devices 0 llvmpipe
  [[ $all ]] || return 0
  check "a row is timed and checked" row_is_measured
  check "clam-tests passes" says tests 0 '^[0-9]+ passed, 0 failed, 0 skipped$'
  tests=$(sed -nE 's/^([0-9]+) passed, .*/\1/p' "$box/tests.out")
  passed=$((passed + ${tests:-0}))
}

# says NAME CODE PATTERN: it ended with CODE, and a line of its output has PATTERN.
says() {
  [[ $(cat "$box/$1.code") == "$2" ]] && grep -qE -e "$3" "$box/$1.out" && return
  echo "  it ended with $(cat "$box/$1.code"), not $2, or does not say '$3'; its last lines:"
  tail -n 12 "$box/$1.out" "$box/$1.err" | sed 's/^/    /'
  return 1
}

main "$@"
