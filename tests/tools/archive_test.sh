#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# archive_test.sh - the archives for x86_64, unpacked or installed by pip, in folders of Debian 11, 12 and 13.
#
# They are built as tools/package builds them, with clam-tests, in build-x86_64/ or the folder of
# CLAM_TEST_ARCHIVE. Debian 11 is the folder that they are linked with: its glibc and nothing else. Debian 12 and
# 13 are those of debian_test.sh, or this machine itself.
# One line a test, and the sum as the last line; 77 and a sentence where nothing could run.
# shellcheck disable=SC2317  # `check` calls what it is given
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../tools/roots.sh
source "$tree/tools/roots.sh"
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$tree/tests/tools/checks.sh"

box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

main() {
  local code=0 release
  [[ $HOSTTYPE == x86_64 ]] || cannot "the archives for x86_64 are run on x86_64 alone"
  has bwrap || cannot "the folders of releases are entered by bubblewrap: install it (tools/setup llvmpipe)"
  this_architecture
  "$tree/tools/package" --x86_64 ${CLAM_TEST_ARCHIVE:+"$CLAM_TEST_ARCHIVE"} >"$box/paths" || code=$?
  [[ $code != 77 ]] || { skipped=1 && finish; }
  [[ $code == 0 ]] || { echo "FAILED  the archives are built" && failed=1 && finish; }
  unpack
  check_needs
  run_in 11 "$drivers/sysroot-debian11-amd64"
  for release in 12 13; do
    if grep -qs "^VERSION_ID=\"$release\"" /etc/os-release && grep -qs '^ID=debian' /etc/os-release; then
      run_in "$release" /
    elif debian_root "$release" && (need_root); then
      run_in "$release" "$root"
    else
      skip "Debian $release"
    fi
  done
  check_row
  check_tests
  finish
}

# What the paths name, each in a folder of its own.
unpack() {
  mkdir "$box"/{tar,deb,wheel}
  cmake -E chdir "$box/tar" cmake -E tar xf "$(grep -F .tar.zst "$box/paths")"
  dpkg-deb -x "$(grep -F .deb "$box/paths")" "$box/deb"
  if grep -qF .whl "$box/paths" && python3 -m pip --version >/dev/null 2>&1; then
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install -qq --no-deps --no-index --root "$box/wheel" --prefix /usr "$(grep -F .whl "$box/paths")"
  fi
}

programs() { find "$box" -path '*/bin/clam' -o -path '*/bin/clam-bench' -o -path '*/bin/clam-tests' -o -name libclam_watch.so | sort; }

check_needs() {
  local program
  check "the archive, the package and the wheel have their programs" test "$(programs | wc -l)" -ge 8
  for program in $(programs); do
    check "${program#"$box"/} needs nothing newer than glibc 2.31" needs_little "$program"
  done
}

needs_little() {
  local more
  readelf -d "$1" | grep -q 'NEEDED.*libc.so.6' || return
  more=$(
    readelf -d "$1" | sed -nE 's/.*\((NEEDED|R.*PATH)\).*\[(.*)\]/\2/p' |
      grep -vxE 'ld-linux-x86-64.so.2|lib(c|m|pthread|dl|rt|util).so.[0-9]' || true
    readelf -V "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | awk -F '[_.]' '$2 > 2 || $3 > 31'
  )
  [[ -z $more ]] || { echo "  it needs ${more//$'\n'/ }" && return 1; }
}

# inside ROOT PROGRAM...: with the folders of that release as the system's.
inside() {
  local root=${1%/} name
  local -a links=()
  shift
  for name in bin lib lib64; do
    if [[ -d $root/$name && ! -L $root/$name ]]; then
      links+=(--ro-bind "$root/$name" "/$name")
    else
      links+=(--symlink "usr/$name" "/$name")
    fi
  done
  [[ ! -d $root/etc ]] || links+=(--ro-bind "$root/etc" /etc)
  bwrap --ro-bind "$root/usr" /usr "${links[@]}" --dev /dev --proc /proc --perms 1777 --tmpfs /tmp --dir /home \
    --ro-bind "$box" "$box" --unshare-pid --die-with-parent --clearenv --setenv PATH /usr/bin --setenv HOME /home \
    --setenv HWLOC_SYNTHETIC "numa:1(memory=8589934592) core:2 pu:1" --setenv HWLOC_THISSYSTEM 1 "$@"
}

run_in() {
  local release=$1 root=$2 program
  for program in $(programs | grep '/clam$'); do
    check "doctor runs in Debian $release: ${program#"$box"/}" doctor_runs "$root" "$program"
  done
}

# It ends with the sum of its findings; what it finds is the release's.
doctor_runs() {
  local code=0
  inside "$1" "$2" doctor >"$box/doctor" 2>&1 || code=$?
  [[ $code -le 1 ]] && grep -qE '^[0-9]+ faults?, [0-9]+ notes?$' "$box/doctor" && return
  sed 's/^/    /' "$box/doctor"
  return 1
}

check_row() {
  check "clam-bench gives an OK row on llvmpipe" row_is_ok
}

row_is_ok() {
  "$tree/tools/with-driver" llvmpipe "$box"/tar/clam-*/bin/clam-bench --quick --problem "softmax shape=64x192 dtype=f16" \
    >"$box/row" 2>&1 && grep -qE '^1 passed, 0 failed' "$box/row" && return
  sed 's/^/    /' "$box/row"
  return 1
}

# Without a device in Debian 11, in f16 on this machine's llvmpipe. The kernels are the archive's.
check_tests() {
  check "clam-tests passes in Debian 11" tests_pass inside "$drivers/sysroot-debian11-amd64"
  check "clam-tests passes on llvmpipe" tests_pass "$tree/tools/with-driver" llvmpipe
}

# tests_pass COMMAND...: what runs the program.
tests_pass() {
  "$@" "$box"/tar/clam-*/bin/clam-tests \
    --gtest_filter='tensor.*:npy.*:problem.*:plan_json.*:softmax_device.every_kernel_is_right_in_f16' \
    >"$box/tests" 2>&1 && grep -qE '^[0-9]+ passed, 0 failed, [0-9]+ skipped$' "$box/tests" && return
  tail -n 40 "$box/tests" | sed 's/^/    /'
  return 1
}

main "$@"
