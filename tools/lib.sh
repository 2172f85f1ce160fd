# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh - what the scripts of this folder share; it is sourced, never run.
# Messages go to standard error, so that the output of a program stays its own.

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Where devices, kernel drivers and OpenCL libraries are looked up; a test puts a made-up machine here.
sysroot=${CLAM_SYSROOT:-}

# say TEXT...: one line for the person.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# fail CODE TEXT...: one sentence, then the end.
fail() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

has() { command -v "$1" >/dev/null 2>&1; }

# paint CODE TEXT: TEXT in a colour, when standard output is a terminal that wants colours.
paint() {
  if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    printf '\033[%sm%s\033[0m\n' "$1" "$2"
  else
    printf '%s\n' "$2"
  fi
}

# The comment at the head of a script is its help.
print_help() { sed -n '2,/^[^#]/{/^# SPDX/d; s/^# \{0,1\}//p}' "$0"; }

# slow_tests LEVEL|...: the patterns that tests/support/slow.txt has of these levels, one a line.
slow_tests() { sed -nE "s/^($1) +([^ ]+).*/\2/p" "$tree/tests/support/slow.txt"; }

# What tests build is kept in build/, unless the caller says where, and the home is left alone. The test
# program does the same where it is run by itself. They build more than the limit of a person's cache,
# for which a board's card has no room.
keep_caches_here() {
  local caches=$tree/build/test-cache
  if [[ -z ${CLAM_CACHE_DIR:-} ]]; then
    export CLAM_CACHE_DIR=$caches/programs
    is_board || export CLAM_CACHE_MB=${CLAM_CACHE_MB:-1000}
  fi
  export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$caches/pocl}
  export MESA_SHADER_CACHE_DIR=${MESA_SHADER_CACHE_DIR:-$caches/mesa}
  mkdir -p "$POCL_CACHE_DIR" "$MESA_SHADER_CACHE_DIR"
}

# only_of PART: the tests that are a part of their own in tools/test --full, as a filter of GoogleTest.
only_of() {
  case $1 in
    oclgrind) echo 'oclgrind.*' ;;
    mali) echo 'mali_bars.*:cli.real_mali_*' ;;
  esac
}

# The Python of tools/import-onnx: in a virtual environment for just these versions of its packages.
onnx_python() {
  local versions
  versions=$(cksum <"$tree/tools/onnx/requirements.txt")
  printf '%s\n' "${CLAM_ONNX_PYTHON:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/clam/onnx/${versions%% *}/bin/python}"
}

groups_known() { sed -n 's/^\[\([a-z0-9]*\)\].*/\1/p' "$tree/tools/packages.txt"; }

packages_of() {
  awk -v group="[$1]" '/^\[/ { inside = ($1 == group); next } inside && NF && !/^#/ { print $1 }' \
    "$tree/tools/packages.txt"
}

# not_installed PACKAGE...: those that are missing, one a line.
not_installed() {
  local package
  local -A state=()
  while read -r package status; do
    [[ $status != installed ]] || state[$package]=1
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null)
  for package in "$@"; do
    [[ -n ${state[$package]:-} ]] || printf '%s\n' "$package"
  done
}

# The kernel driver of the Mali of this board: mali (Arm's), panfrost or panthor; fails on other machines.
mali_kernel_driver() {
  local link name
  if [[ -e $sysroot/dev/mali0 ]]; then
    echo mali
    return
  fi
  for link in "$sysroot"/sys/class/drm/renderD*/device/driver; do
    name=$(readlink "$link") || continue
    [[ ${name##*/} =~ ^(panfrost|panthor)$ ]] && echo "${name##*/}" && return
  done
  return 1
}

is_board() { mali_kernel_driver >/dev/null; }

# A libOpenCL.so that Debian's own loader packages did not bring: a vendor's.
vendor_opencl() {
  local file owner
  for file in "$sysroot"/usr/{lib,local/lib}/{,*/,*/*/}libOpenCL.so*; do
    [[ -e $file || -L $file ]] || continue
    owner=$(dpkg-query -S "${file#"$sysroot"}" 2>/dev/null | sed 's/:.*//') || owner=
    [[ $owner =~ ^ocl-icd-(libopencl1|opencl-dev)$ ]] || { printf '%s\n' "$file" && return; }
  done
  return 1
}

# first_that TEST FILE...: the first file that `test` says yes to: -r, it can be read; -e, it is there.
first_that() {
  local file
  for file in "${@:2}"; do
    test "$1" "$file" && printf '%s\n' "$file" && return
  done
  return 1
}

# The .icd file of one driver, by a part of its name: pocl, rusticl.
icd_of() { first_that -r "$sysroot"/etc/OpenCL/vendors/*"$1"*.icd; }

# Mesa's rusticl is on this machine and knows fp16 on llvmpipe (from Mesa 25 on).
# Where no dpkg tells the version, a rusticl that is there is taken to be recent.
own_rusticl() {
  local version
  icd_of rusticl >/dev/null || return 1
  has dpkg-query || return 0
  version=$(dpkg-query -W -f '${Version}' mesa-opencl-icd 2>/dev/null) || return 1
  ((${version%%.*} >= 25))
}

# The device file that this board's OpenCL driver opens, if it is there.
mali_device_file() { first_that -e "$sysroot"/dev/mali0 "$sysroot"/dev/dri/renderD*; }

# What to do when OpenCL does not see this board's Mali, as one sentence.
mali_missing() {
  local driver file group
  driver=$(mali_kernel_driver)
  if file=$(mali_device_file) && [[ ! -r $file || ! -w $file ]]; then
    group=$(stat -c %G "$file")
    echo "OpenCL does not see the Mali: you may not open $file, so join its group (sudo usermod" \
      "-aG $group $(id -un)) and log in again"
  elif [[ $driver == mali ]]; then
    echo "OpenCL does not see the Mali: the kernel runs Arm's driver, so install your board's" \
      "libmali of the same release and name it in an .icd file in /etc/OpenCL/vendors"
  else
    echo "OpenCL does not see the Mali: the kernel runs $driver, so install Mesa's rusticl, 25 or" \
      "newer (tools/setup mesa), and set RUSTICL_ENABLE=panfrost"
  fi
}

# The devices that the built clam-bench sees, one a line; fails when there is none.
lists_devices() { env -u CLAM_DEVICE "$tree/build/clam-bench" --list-devices 2>/dev/null; }

# need_mali: on a board, ends with 77 unless OpenCL sees a Mali.
need_mali() {
  local devices
  is_board || return 0
  devices=$(lists_devices) || true
  [[ ${devices,,} =~ mali|panfrost|panthor ]] || fail 77 "$(mali_missing);" \
    "more is said by: ninja -C build clam && build/clam doctor"
}

# Release, by Ninja, into build/. Only a failure shows what CMake said.
configure() {
  local log=$tree/build/configure.log
  mkdir -p "$tree/build" || fail 3 "the folder $tree/build cannot be made"
  (cd "$tree" && cmake -G Ninja --preset release) >"$log" 2>&1 || {
    cat "$log" >&2
    fail 3 "CMake could not set up build/; its output is above (if build/ is of another kind of" \
      "build, remove that folder)"
  }
}

# compile [TARGET...]: in build/; without a target, all of them.
compile() {
  # Two compilers a core, as memory has room: a busy machine gives each its share.
  ninja -j "$((2 * $(nproc) + 2))" -C "$tree/build" "$@" >&2 || fail 3 "the build failed; the first error is printed above"
}
