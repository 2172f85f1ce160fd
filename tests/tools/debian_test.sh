#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# debian_test.sh [12|13] [--compiler C++] [--all] - clam as a release of Debian builds and runs it.
#
# The release (13 if none is given) is a private folder made of its packages, entered by bubblewrap:
# of this machine it sees the tree, read-only. It has a build folder of its own, build-debianN/, or
# build-debianN-C++/ of another compiler than g++.
#
#   --compiler C++  the compiler: g++ or clang++
#   --all           all tests on PoCL and those of ops on llvmpipe, in place of each op's smallest
#
# One line a check, and the sum as the last line; 77 and a sentence where nothing could run.
# shellcheck disable=SC2317  # `check` calls what it is given
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../tools/roots.sh
source "$tree/tools/roots.sh"
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$tree/tests/tools/checks.sh"

release=13
compiler=g++
all=
build=  # the folder on this machine that is build/ inside
everything=()  # what has bwrap tell the tests to leave nothing out

# What must not depend on the versions of libraries, and the smallest device tests of each op: on PoCL in f32,
# on llvmpipe in f16.
smoke='every_op.*:*_device.every_kernel_is_right_in_f32:number_text.*:plan.*:problem.*:multibox_prior.*:bench.*:program_cache_device.*'

main() {
  read_arguments "$@"
  this_architecture
  has bwrap || cannot "Debian $release is entered by bubblewrap, which is not here: install it" \
    "(tools/setup llvmpipe)"
  bwrap --ro-bind / / --unshare-pid true 2>/dev/null || cannot "bubblewrap may not make a sandbox here," \
    "so Debian $release cannot be entered: allow user namespaces, or run this as root"
  debian_root "$release"
  need_root
  build=$tree/build-debian$release
  [[ $compiler == g++ ]] || build+=-$compiler
  mkdir -p "$build" "$tree/build"
  check_build
  check_tests
  finish
}

read_arguments() {
  while [[ $# -gt 0 ]]; do
    case $1 in
      --help | -h) print_help && exit ;;
      12 | 13) release=$1 ;;
      --compiler)
        [[ ${2:-} == g++ || ${2:-} == clang++ ]] || fail 2 "--compiler needs g++ or clang++"
        compiler=$2 && shift
        ;;
      --all) all=1 everything=(--setenv CLAM_TEST_FULL 1 --setenv CLAM_TEST_WEEKLY 1) ;;
      *) fail 2 "unknown argument '$1'; there are 12, 13, --compiler, --all and --help" ;;
    esac
    shift
  done
}

# ---- inside -------------------------------------------------------------------------------------

# inside COMMAND...: in the release, where / is its own. hwloc finds the processors in a text, since
# there is no /sys.
inside() {
  bwrap --ro-bind "$root/usr" /usr --ro-bind "$root/etc" /etc --symlink usr/bin /bin \
    --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --dev /dev --proc /proc \
    --perms 1777 --tmpfs /tmp --dir /var/tmp --dir /home --ro-bind "$tree" "$tree" \
    --bind "$build" "$tree/build" --unshare-ipc --unshare-pid --die-with-parent --clearenv \
    --setenv PATH /usr/bin:/usr/sbin --setenv HOME /home --setenv LC_ALL C.UTF-8 \
    --setenv CXX "$compiler" --setenv CLAM_CACHE_DIR "$tree/build/programs" \
    --setenv HWLOC_SYNTHETIC "numa:1(memory=8589934592) core:$(nproc) pu:1" \
    --setenv HWLOC_THISSYSTEM 1 --setenv CXXFLAGS -Werror "${everything[@]}" --chdir "$tree" "$@"
}

# The README's first command, and then the rest of what there is to build.
check_build() {
  local version
  version=$(inside "$compiler" --version | head -n 1)
  if [[ -z $all ]]; then
    check "tools/bench --quick builds and runs with $version" measured
    check "each of its rows is right, and it fits 60 lines" fits_60_lines
  else
    check "$version sets up the build" logged configure cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release
  fi
  check "$version builds everything" logged build cmake --build build
  check "$version warns of nothing" lacks_warnings
}

# No verdict here depends on what else the machine does: where a row is INVALID for its time alone, that is
# no failure. The scripted OpenCL holds what is right about times.
measured() {
  local code=0
  inside tools/bench --quick >"$build/bench.log" 2>&1 </dev/null || code=$?
  [[ $code == 0 ]] || { [[ $code == 1 ]] && rows_are_right "$build/bench.log"; } || {
    echo "  code $code; the end of $build/bench.log:"
    tail -n 20 "$build/bench.log" | sed 's/^/  /'
    return 1
  }
}

# From the table on: before it stands what was built.
fits_60_lines() {
  local table
  table=$(sed -n '/^device: /,$p' "$build/bench.log")
  [[ $(wc -l <<<"$table") -le 60 && $(count_rows <<<"$table") == 22 ]] && rows_are_right "$build/bench.log" &&
    grep -q 'farthest from their peak' <<<"$table" && grep -q 'a page to look at is' <<<"$table" && return
  echo "  $(wc -l <<<"$table") lines; the last ones:"
  tail -n 8 <<<"$table" | sed 's/^/  /'
  return 1
}

# logged NAME COMMAND...: keeps what it prints, and shows its end where it fails.
logged() {
  local log=$build/$1.log
  inside "${@:2}" >"$log" 2>&1 </dev/null && return
  echo "  code $?; the end of $log:"
  tail -n 20 "$log" | sed 's/^/  /'
  return 1
}

lacks_warnings() {
  ! grep -hE 'warning:' "$build"/{bench,page,configure,build}.log 2>/dev/null || return 1
}

# The release's own drivers: PoCL in f32, and Mesa's llvmpipe in f16 where its Mesa knows that.
check_tests() {
  local driver filter=$smoke
  for driver in pocl llvmpipe; do
    if [[ $driver == llvmpipe && $release -lt 13 ]]; then
      skip "llvmpipe: the Mesa of Debian $release has no fp16"
      continue
    fi
    [[ $driver == pocl ]] || filter='*_device.every_kernel_is_right_in_f16'
    [[ -z $all ]] || filter=$(all_tests_of "$driver")
    check "its tests pass on $driver" run_tests "$driver" "$filter"
  done
}

# As tools/test --full divides them.
all_tests_of() {
  case $1 in
    pocl) echo '*' ;;
    llvmpipe) echo "*_device.*-$(slow_tests 'weekly|once' | paste -sd :)" ;;
  esac
}

# A run of which nothing passed is no success, nor is fp16 that no test has seen.
run_tests() {
  local sum
  logged "tests-$1" tools/with-driver "$1" build/clam-tests "--gtest_filter=$2" || return 1
  sum=$(grep -E '^[1-9][0-9]* passed, 0 failed' "$build/tests-$1.log") || return 1
  echo "  $1: $sum"
  [[ $1 != llvmpipe ]] || grep -q 'OK .*_in_f16 ' "$build/tests-$1.log" || {
    echo "  no test ran in f16: see $build/tests-$1.log"
    return 1
  }
}

main "$@"
