#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tools_test.sh [WORD] - tests of the scripts in tools/, or of those whose name has WORD in it.
#
# Every test gets a made-up machine: a copy of the scripts, programs of its own in front of PATH, a
# folder that stands for / where devices and drivers are looked up, and an empty home. Nothing is
# installed, built or downloaded. One line a test, and the sum as the last line.
# shellcheck disable=SC2016  # what a made-up program says is expanded when it runs
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
box=       # the made-up machine of the running test
problems=  # what the running test found wrong
path=$PATH
weekly=${CLAM_TEST_WEEKLY:-}
export CLAM_PYTHON=python3 # the made-up one
export CLAM_TEST_JOBS=1 # one process a driver, unless a test says otherwise
unset CLAM_DEVICE CLAM_DEBIAN_MIRROR CLAM_TEST_FULL CLAM_TEST_WEEKLY CLAM_TEST_AGAIN CLAM_OPENCL LD_LIBRARY_PATH

# ---- the made-up machine ------------------------------------------------------------------------

# program NAME: an executable of the machine; its text comes from standard input.
program() {
  mkdir -p "$(dirname "$box/bin/$1")"
  { echo '#!/usr/bin/env bash' && cat; } >"$box/bin/$1"
  chmod +x "$box/bin/$1"
}

# built NAME: a program in build/, as the build would leave it.
built() { program "../tree/build/$1"; }

# built_bench: clam-bench, which lists what the file "devices" holds.
built_bench() {
  {
    echo '[[ $1 != --list-devices ]] || { cat "$BOX/devices" && [[ -s $BOX/devices ]]; exit; }'
    cat
  } | built clam-bench
}

# A PC on which all is installed, Mesa 25 included, with one passing test program.
make_machine() {
  mkdir -p "$box"/{bin,tree/tests/{tools,support},root/etc/OpenCL/vendors,home}
  cp -r "$tree/tools" "$box/tree/tools"
  touch "$box"/{missing,unknown,calls} "$box"/root/etc/OpenCL/vendors/{pocl,rusticl}.icd
  echo 25.0.7-2 >"$box/mesa"
  echo 25.0.7-2 >"$box/candidate"
  echo 0 >"$box/uid"
  echo lists >"$box/lists"
  echo 'Inst ninja-build (1.11 Debian [amd64])' >"$box/plan"
  echo 'echo "2 passed, 0 failed, 0 skipped"' >"$box/tree/tests/tools/tools_test.sh"
  echo 'echo "3 passed, 0 failed, 0 skipped"' >"$box/tree/tests/tools/aarch64_test.sh"
  echo 'echo "6 passed, 0 failed, 0 skipped"' >"$box/tree/tests/tools/debian_test.sh"
  echo 'echo "1 passed, 0 failed, 0 skipped"' >"$box/tree/tests/tools/onnx_test.sh"
  printf '%s\n' '# a comment' 'full slow.*  # 9 s' 'fifth slower.*' 'weekly slowest.*' 'once cli*_device.*' >"$box/tree/tests/support/slow.txt"
  make_packaging
  program cmake <<<'echo "cmake $*" >>"$BOX/calls"'
  program ninja <<<'[[ $1 != -j ]] || shift 2; echo "ninja $*" >>"$BOX/calls"'
  echo '0:0 a CPU' >"$box/devices"
  program onnx-python <<<'true'
  built clam <<<'echo "clam $*" >>"$BOX/calls"'
  built_bench <<<'true'
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || { echo dense_device. && exit; }
    echo "$OCL_ICD_VENDORS $*" >>"$BOX/calls"; echo "5 passed, 0 failed, 1 skipped"'
}

make_packaging() {
  program dpkg-query <<'END'
case $1:$3 in
  -W:*Status*) shift 3; for name; do grep -qx "$name" "$BOX/missing" || echo "$name installed"; done ;;
  -W:*Version*) cat "$BOX/mesa" 2>/dev/null ;;
  -S:*) cat "$BOX/owner" 2>/dev/null ;;
esac
END
  program apt-get <<'END'
echo "apt-get $*" >>"$BOX/calls"
case " $* " in
  *" indextargets "*) cat "$BOX/lists" ;;
  *" -s "*) cat "$BOX/plan"; ! grep -q ^E: "$BOX/plan" ;;
  *" --print-uris "*) echo "'a' a.deb 3000000 hash" ;;
  *" update "*) echo lists >"$BOX/lists" ;;
  *" install "*) [[ ! -e $BOX/broken ]] ;;
esac
END
  program apt-cache <<'END'
case $1 in
  policy)
    shift
    for name; do
      grep -qx "$name" "$BOX/unknown" || printf '%s:\n  Candidate: %s\n' "$name" "$(cat "$BOX/candidate")"
    done
    ;;
  show) echo 'Installed-Size: 5000' ;;
esac
END
  program id <<<'[[ $1 == -u ]] && cat "$BOX/uid" || echo someone'
  program sudo <<<'[[ $1 != -n ]] || { [[ -e $BOX/sudo ]]; exit; }; echo "sudo $*" >>"$BOX/calls"; "$@"'
}

# A PC without a Mesa of its own that is new enough, where bubblewrap may enter a private folder.
make_old_mesa() {
  rm "$box/root/etc/OpenCL/vendors/rusticl.icd"
  program dpkg <<<'echo amd64'
  program bwrap <<<'while [[ $1 != -- ]]; do shift; done; shift; exec "$@"'
  program mmdebstrap <<'END'
echo "mmdebstrap $*" >>"$BOX/calls"
[[ ! -e $BOX/slow ]] || sleep 1
work=$(mktemp -d) && cd "$work" && mkdir -p etc/OpenCL/vendors usr/share/doc/mesa-opencl-icd
echo 'mesa (25.0.7-2+deb13u1) trixie; urgency=high' | gzip >usr/share/doc/mesa-opencl-icd/changelog.Debian.gz
tar -c ./usr ./etc
rm -rf "$work"
END
  echo a-mirror >"$box/lists"
}

# A PC that has the emulator, and an aarch64 program, which the emulator only pretends to run.
make_emulator() {
  make_old_mesa
  program qemu-aarch64-static <<<'echo "$$ $*" >>"$BOX/calls"; env; echo "to err" >&2; exit 6'
  printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\267\0' >"$box/arm-program"
  chmod +x "$box/arm-program"
}

# only_these PROGRAM...: the machine has these of the real one's programs, and none else.
only_these() {
  local name only=$box/only
  mkdir -p "$only"
  for name in "$@"; do ln -sf "$(type -P "$name")" "$only"; done
  path=$only
}

make_board() {
  mkdir -p "$box/root/dev" "$box/root/usr/lib"
  touch "$box/root/dev/mali0"
  rm "$box"/root/etc/OpenCL/vendors/*.icd
}

# ---- running and judging ------------------------------------------------------------------------

# run TOOL [ARGUMENT...]: leaves its exit code, standard output and standard error.
run() {
  code=0
  (cd "$box/tree" && BOX=$box PATH=$box/bin:$path HOME=$box/home XDG_CACHE_HOME=$box/home/cache \
    CLAM_SYSROOT=$box/root CLAM_ONNX_PYTHON=${onnx_python-$box/bin/onnx-python} bash "tools/$1" "${@:2}") \
    >"$box/out" 2>"$box/err" </dev/null || code=$?
}

wrong() { problems+="    $*"$'\n'; }

code_is() { [[ $code == "$1" ]] || wrong "exit code $code, not $1"; }

# says out|err|calls TEXT: one line of it has that text;  lacks: none has.
says() { grep -qF -e "$2" "$box/$1" || wrong "not in $1: $2"; }
lacks() { ! grep -qF -e "$2" "$box/$1" || wrong "in $1: $2"; }
silent() { [[ ! -s $box/out && ! -s $box/err ]] || wrong "it is not silent"; }
last_line_is() { [[ $(tail -n 1 "$box/out") == "$1" ]] || wrong "the last line is not: $1"; }
one_sentence() { [[ $(wc -l <"$box/err") == 1 ]] || wrong "not one line on standard error"; }

# ---- setup --------------------------------------------------------------------------------------

test_setup_is_silent_when_nothing_is_missing() {
  run setup
  code_is 0
  silent
  lacks calls apt-get
}

test_setup_shows_packages_and_size_before_it_installs() {
  echo ninja-build >"$box/missing"
  run setup build
  code_is 0
  says err 'missing packages: ninja-build'
  says err '1 packages, 3 MB to download, about 5 MB on disk'
  says calls 'apt-get install -y --no-install-recommends ninja-build'
}

test_setup_without_root_or_sudo_names_the_command() {
  echo ninja-build >"$box/missing"
  echo 1000 >"$box/uid"
  run setup build
  code_is 3
  says err 'run sudo apt-get install -y --no-install-recommends ninja-build'
  lacks calls 'apt-get install'
}

test_setup_uses_sudo_that_asks_nothing() {
  echo ninja-build >"$box/missing"
  echo 1000 >"$box/uid"
  touch "$box/sudo"
  run setup build
  code_is 0
  says calls 'sudo env DEBIAN_FRONTEND=noninteractive apt-get install'
}

test_setup_refreshes_empty_lists_and_says_so() {
  echo ninja-build >"$box/missing"
  : >"$box/lists"
  run setup build
  code_is 0
  says err "apt's lists of packages are empty, so they are refreshed first"
  says calls 'apt-get update'
  says calls 'apt-get install -y'
}

test_setup_refuses_to_remove_a_package() {
  echo ninja-build >"$box/missing"
  echo 'Remv precious [1.0]' >>"$box/plan"
  run setup build
  code_is 3
  says err 'apt would remove precious'
  lacks calls 'apt-get install'
}

test_setup_tells_what_apt_cannot_do() {
  echo ninja-build >"$box/missing"
  echo 'E: Unable to locate package ninja-build' >"$box/plan"
  run setup build
  code_is 3
  says err 'E: Unable to locate package ninja-build'
  says err 'apt-get update'
}

test_setup_installs_what_a_release_has() {
  printf '%s\n' oclgrind python3-pyopencl >"$box/missing"
  echo oclgrind >"$box/unknown"
  run setup oclgrind python
  code_is 0
  says err 'no package oclgrind, which the group oclgrind lists: going on without it'
  says calls 'install -y --no-install-recommends python3-pyopencl'
  : >"$box/calls"
  echo python3-pyopencl >>"$box/unknown"
  run setup oclgrind python
  code_is 0
  says err 'no package python3-pyopencl, which the group python lists'
  lacks calls ' install '
}

test_setup_tries_again_with_fresh_lists() {
  echo ninja-build >"$box/missing"
  touch "$box/broken"
  run setup build
  code_is 3
  says calls 'apt-get update'
  says err 'apt could not install ninja-build'
}

test_setup_names_the_groups_it_knows() {
  run setup buidl
  code_is 2
  says err "no group 'buidl'; there are build pocl llvmpipe mesa mali aarch64 package oclgrind python compare browser clpeak peers boards onnx mali-testing"
}

test_setup_takes_mesa_where_it_is_new_enough() {
  make_old_mesa
  printf '%s\n' bubblewrap mesa-opencl-icd >"$box/missing"
  echo 25.2.0-1 >"$box/candidate"
  run setup llvmpipe
  says err 'missing packages: mesa-opencl-icd'
  echo 22.3.6-1 >"$box/candidate"
  run setup llvmpipe
  says err 'missing packages: bubblewrap'
}

test_setup_does_not_take_an_old_mesa_for_llvmpipe() {
  echo 22.3.6-1 >"$box/mesa"
  echo 22.3.6-1 >"$box/candidate"
  echo bubblewrap >"$box/missing"
  run setup llvmpipe
  says err 'missing packages: bubblewrap'
}

test_setup_mali_asks_for_what_this_machine_lacks() {
  program dpkg <<<'echo amd64'
  printf '%s\n' qemu-user-static gcc-aarch64-linux-gnu uidmap bubblewrap >"$box/missing"
  run setup mali
  code_is 0
  says err 'missing packages: gcc-aarch64-linux-gnu qemu-user-static'
  program dpkg <<<'echo arm64'
  run setup mali
  says err 'missing packages: bubblewrap'
  echo 1000 >"$box/uid"
  touch "$box/sudo"
  run setup mali
  says err 'missing packages: bubblewrap uidmap'
}

# The folder is made beside that of Debian 13, and nothing but its own word asks for it.
test_setup_mali_testing_makes_its_folder() {
  make_emulator
  echo qemu-user-static >"$box/missing"
  run setup mali
  code_is 0
  lacks calls mmdebstrap
  : >"$box/missing"
  run setup mali-testing
  code_is 0
  says calls 'Acquire::Check-Valid-Until "false"'
  says calls 'a-mirror testing main'
  [[ -d $box/home/cache/clam/drivers/mesa-debiantesting-arm64 ]] || wrong "no folder was made"
  [[ ! -e $box/home/cache/clam/drivers/mesa-debian13-arm64 ]] || wrong "Debian 13's folder was made too"
  : >"$box/calls"
  echo qemu-user-static >"$box/missing"
  run setup mali-testing
  says err 'missing packages: qemu-user-static'
  lacks calls mmdebstrap
}

# The environment is made under another name, and only when all is in it.
test_setup_onnx_makes_a_virtual_environment() {
  local onnx_python= # none is there
  program python3 <<'END'
echo "python3 $*" >>"$BOX/calls"
mkdir -p "$3/bin" && { echo '#!/bin/sh' && echo 'echo "pip $*" >>"$BOX/calls"; [ ! -e "$BOX/offline" ]'; } >"$3/bin/python"
chmod +x "$3/bin/python"
END
  touch "$box/offline"
  run setup onnx
  code_is 3
  says err 'the virtual environment cannot be made'
  [[ -z $(find "$box/home/cache/clam/onnx" -name python) ]] || wrong "half an environment is left"
  run import-onnx a.onnx -o b
  code_is 77
  says err 'run tools/setup onnx'
  rm "$box/offline"
  run setup onnx
  code_is 0
  says calls '-m pip install -q -r'
  : >"$box/calls"
  run setup onnx
  silent
  lacks calls python3
  run import-onnx a.onnx -o b
  says calls 'import_onnx.py a.onnx -o b'
}

test_setup_on_a_system_without_apt_goes_on_with_the_tools_there() {
  rm "$box"/bin/{apt-get,dpkg-query}
  only_these bash env dirname sed awk grep paste sort cat id
  touch "$box/only/c++" && chmod +x "$box/only/c++"
  run setup build
  code_is 0
  says err 'this system has no apt; clam needs'
  rm "$box/bin/ninja"
  run setup build
  code_is 3
}

# ---- boards -------------------------------------------------------------------------------------

test_board_gets_no_pocl() {
  make_board
  printf '%s\n' pocl-opencl-icd ninja-build >"$box/missing"
  run setup pocl
  code_is 0
  silent
  run setup build pocl
  says calls 'install -y --no-install-recommends ninja-build'
  lacks calls pocl
}

test_board_gets_nothing_that_builds_for_boards() {
  make_board
  printf '%s\n' qemu-user-static g++-aarch64-linux-gnu gcc-aarch64-linux-gnu mmdebstrap >"$box/missing"
  run setup mali aarch64
  code_is 0
  silent
  lacks calls apt-get
  program mmdebstrap <<<'touch "$BOX/made"'
  local driver
  for driver in mali mali-testing arm64; do
    run with-driver "$driver" true
    code_is 77
    one_sentence
    says err 'not installed on a board: run it on a PC'
  done
  run package
  code_is 77
  says err 'a board builds for itself'
  [[ ! -e $box/made ]] || wrong "a folder was made"
}

test_board_by_its_kernel_driver_gets_no_pocl() {
  local name
  echo pocl-opencl-icd >"$box/missing"
  for name in panfrost panthor; do
    mkdir -p "$box/root/sys/class/drm/renderD128/device" "$box/root/drivers/$name"
    ln -sfn "../../../../../drivers/$name" "$box/root/sys/class/drm/renderD128/device/driver"
    run setup pocl
    code_is 0
    silent
  done
  ln -sfn ../../../../../drivers/amdgpu "$box/root/sys/class/drm/renderD128/device/driver"
  run setup pocl
  says calls 'pocl-opencl-icd'
}

test_board_keeps_the_vendors_opencl() {
  make_board
  touch "$box/root/usr/lib/libOpenCL.so.1"
  echo 'libmali-g610:arm64: /usr/lib/libOpenCL.so.1' >"$box/owner"
  printf '%s\n' ocl-icd-opencl-dev opencl-c-headers >"$box/missing"
  run setup build
  code_is 0
  says calls opencl-c-headers
  lacks calls ocl-icd-opencl-dev
  echo libclblast-dev >>"$box/missing"
  run setup peers
  code_is 0
  lacks calls libclblast-dev
  echo 'ocl-icd-libopencl1:arm64: /usr/lib/libOpenCL.so.1' >"$box/owner"
  run setup build
  says calls ocl-icd-opencl-dev
}

test_other_machines_keep_their_opencl_and_get_all() {
  mkdir -p "$box/root/usr/lib"
  touch "$box/root/usr/lib/libOpenCL.so.1"
  echo ocl-icd-opencl-dev >"$box/missing"
  run setup build
  says calls 'install -y --no-install-recommends ocl-icd-opencl-dev'
}

test_board_refuses_to_replace_a_vendor_package() {
  make_board
  echo ninja-build >"$box/missing"
  echo 'Inst libmali-g610 [1.0] (2.0 Board [arm64])' >>"$box/plan"
  run setup build
  code_is 3
  says err 'apt would replace libmali-g610'
  lacks calls 'apt-get install'
}

test_board_runs_on_its_own_driver_alone() {
  make_board
  echo '0:0 Mali-G610 r0p0' >"$box/devices"
  run test
  code_is 0
  last_line_is '7 passed, 0 failed, 1 skipped'
  lacks out pocl
  lacks calls pocl
}

test_board_without_a_visible_mali_is_77() {
  make_board
  run test
  code_is 77
  says err "the kernel runs Arm's driver, so install your board's libmali"
  last_line_is '0 passed, 0 failed, 1 skipped'
  built_bench <<<'touch "$BOX/measured"'
  run bench --quick
  code_is 77
  [[ ! -e $box/measured ]] || wrong "a row was measured"
  run bench --device pocl
  code_is 0
}

# ---- with-driver --------------------------------------------------------------------------------

test_driver_passes_exit_code_and_output() {
  local driver
  for driver in auto pocl llvmpipe; do
    run with-driver "$driver" bash -c 'echo "to out"; echo "to err" >&2; exit 9'
    code_is 9
    [[ $(cat "$box/out" "$box/err") == $'to out\nto err' ]] || wrong "$driver: something else was said"
  done
}

test_driver_passes_standard_input() {
  local out
  out=$(echo text | CLAM_SYSROOT=$box/root "$box/tree/tools/with-driver" pocl cat)
  [[ $out == text ]] || wrong "standard input was lost"
}

test_driver_shows_one_icd() {
  export OCL_ICD_VENDORS=/another CLAM_OPENCL=/another.so CLAM_DEVICE=another
  run with-driver pocl bash -c '! env | grep another'
  code_is 0
  unset OCL_ICD_VENDORS CLAM_OPENCL CLAM_DEVICE
  run with-driver pocl printenv OCL_ICD_VENDORS
  says out "$box/root/etc/OpenCL/vendors/pocl.icd"
  run with-driver llvmpipe bash -c 'echo $OCL_ICD_VENDORS $RUSTICL_ENABLE $RUSTICL_FEATURES'
  says out "$box/root/etc/OpenCL/vendors/rusticl.icd llvmpipe fp16"
}

test_driver_that_is_missing_is_77() {
  rm "$box/root/etc/OpenCL/vendors/pocl.icd"
  run with-driver pocl true
  code_is 77
  one_sentence
  says err 'install pocl-opencl-icd'
}

# An oclgrind that reports what STRAY holds.
make_oclgrind() {
  program oclgrind <<'END'
while [[ $1 == --* ]]; do
  [[ $1 != --log || -z ${STRAY:-} ]] || echo "$STRAY" >"$2"
  case $1 in --log | --max-errors | --build-options) shift 2 ;; *) shift ;; esac
done
exec "$@"
END
}

test_simulator_report_is_a_failure() {
  make_oclgrind
  run with-driver oclgrind bash -c 'echo "$CLAM_CACHE_DIR"'
  code_is 0
  says out off
  STRAY="Invalid read" run with-driver oclgrind true
  code_is 1
  says err "Invalid read"
  STRAY="Invalid read" run with-driver oclgrind bash -c 'exit 3'
  code_is 3
}

test_driver_usage() {
  run with-driver pocl
  code_is 2
  run with-driver nosuch true
  code_is 2
  says err "no driver 'nosuch'; there are pocl, llvmpipe, oclgrind, arm64, mali, mali-testing and auto"
  run with-driver auto nosuch
  code_is 2
  run with-driver --help
  code_is 0
  says out 'tools/with-driver DRIVER PROGRAM'
  run with-driver --version pocl
  code_is 2
  says err 'llvmpipe, arm64, mali and mali-testing'
}

test_llvmpipe_is_made_once() {
  make_old_mesa
  touch "$box/slow"
  run with-driver --check llvmpipe &
  run with-driver llvmpipe bash -c 'exit 4'
  wait
  code_is 4
  [[ $(grep -c mmdebstrap "$box/calls") == 1 ]] || wrong "it was made more than once"
  says calls '--mode=root'
  says calls 'a-mirror trixie main'
  [[ -z $(compgen -G "$box/home/cache/clam/drivers/*.part") ]] || wrong "a part is left"
}

test_llvmpipe_without_root_is_made_by_unshare() {
  make_old_mesa
  echo 1000 >"$box/uid"
  CLAM_DEBIAN_MIRROR=other-mirror run with-driver --check llvmpipe
  code_is 0
  says calls '--mode=unshare'
  says calls 'other-mirror trixie main'
  says err '480 MB on disk'
}

test_llvmpipe_that_cannot_be_made_is_77() {
  make_old_mesa
  program mmdebstrap <<<'echo "E: no such mirror" >&2; exit 1'
  run with-driver llvmpipe true
  code_is 77
  says err 'could not be made: E: no such mirror'
  [[ -z $(compgen -G "$box/home/cache/clam/drivers/mesa*[0-9]") ]] || wrong "a part is left"
}

test_llvmpipe_that_cannot_be_entered_is_77() {
  make_old_mesa
  program bwrap <<<'echo "bwrap: No permissions to create new namespace" >&2; exit 1'
  run with-driver llvmpipe true
  code_is 77
  says err "bubblewrap says 'bwrap: No permissions to create new namespace'"
}

test_llvmpipe_on_another_architecture_is_77() {
  make_old_mesa
  program dpkg <<<'echo riscv64'
  run with-driver llvmpipe true
  code_is 77
  one_sentence
  says err 'amd64 and arm64 only'
}

test_mali_runs_in_the_emulator_with_its_shim() {
  make_emulator
  PAN_GPU_ID=0x7212 run with-driver mali "$box/arm-program" one two
  code_is 6
  says calls " -E LD_PRELOAD=/usr/lib/aarch64-linux-gnu/libpanfrost_noop_drm_shim.so $box/arm-program one two"
  local setting root=$box/home/cache/clam/drivers/mesa-debian13-arm64
  for setting in RUSTICL_ENABLE=panfrost RUSTICL_FEATURES=fp16 MESA_SHADER_CACHE_DISABLE=true \
    "QEMU_LD_PREFIX=$root" "OCL_ICD_VENDORS=$root/etc/OpenCL/vendors/rusticl.icd" PAN_GPU_ID=0x7212; do
    says out "$setting"
  done
  run with-driver mali "$box/arm-program"
  says out PAN_GPU_ID=0xa867
  [[ $(<"$box/err") == "to err" ]] || wrong "standard error is not the program's own"
}

# Mesa 26 would complain of the feature.
test_mali_of_testing_has_a_folder_of_its_own() {
  make_emulator
  RUSTICL_FEATURES=fp16 run with-driver mali-testing "$box/arm-program"
  code_is 6
  says out "QEMU_LD_PREFIX=$box/home/cache/clam/drivers/mesa-debiantesting-arm64"
  says out PAN_GPU_ID=0xa867
  lacks out RUSTICL_FEATURES
  says calls 'a-mirror testing main'
  run with-driver --check mali
  says calls 'a-mirror trixie main'
  [[ $(grep -c Check-Valid "$box/calls") == 1 ]] || wrong "an expired list of Debian 13 is taken too"
}

test_made_makes_nothing() {
  make_emulator
  local driver
  for driver in mali mali-testing; do
    run with-driver --made "$driver"
    code_is 77
    one_sentence
    says err 'is not made yet'
    lacks calls mmdebstrap
  done
  run with-driver --check mali-testing
  run with-driver --made mali-testing
  code_is 0
  run with-driver --made mali
  code_is 77
}

test_mali_compile_chooses_a_release() {
  make_emulator
  run mali/compile --version
  [[ $(<"$box/out") == 'Mesa 25.0.7-2+deb13u1' ]] || wrong "another version"
  cp "$box/arm-program" \
    "$box/home/cache/clam/drivers/mali-loader-$(cksum <"$tree/tools/mali/loader.c" | tr ' ' -)"
  run mali/compile --testing JOBS
  says out "QEMU_LD_PREFIX=$box/home/cache/clam/drivers/mesa-debiantesting-arm64"
  says calls 'JOBS'
  run mali/compile JOBS
  says out "QEMU_LD_PREFIX=$box/home/cache/clam/drivers/mesa-debian13-arm64"
  run mali/compile --testing
  code_is 2
  says err 'usage: tools/mali/compile [--testing] JOBS'
}

test_arm64_shares_the_folder_of_mali() {
  make_emulator
  run with-driver --check mali
  code_is 0
  says calls '--architectures=arm64'
  run with-driver arm64 "$box/arm-program"
  code_is 6
  says out RUSTICL_ENABLE=llvmpipe
  lacks calls LD_PRELOAD
  [[ $(grep -c mmdebstrap "$box/calls") == 1 ]] || wrong "it was made more than once"
}

test_emulated_program_is_the_process_that_was_started() {
  make_emulator
  run with-driver --check arm64
  (
    cd "$box/tree"
    echo "pid $BASHPID" >>"$box/calls"
    exec env BOX="$box" PATH="$box/bin:$path" XDG_CACHE_HOME="$box/home/cache" CLAM_SYSROOT="$box/root" \
      tools/with-driver arm64 "$box/arm-program" >/dev/null 2>&1
  ) || true
  says calls "$(sed -n 's/^pid //p' "$box/calls") $box/arm-program"
}

test_emulator_refuses_programs_of_this_machine() {
  make_emulator
  local driver
  for driver in mali arm64; do
    run with-driver "$driver" true
    code_is 2
    says err "'true' is no aarch64 program, which $driver wants"
  done
}

test_missing_emulator_is_77() {
  make_old_mesa
  rm -f "$box/bin/qemu-aarch64-static"
  only_these bash env dirname sed cat id uname readlink
  run with-driver --check mali
  code_is 77
  one_sentence
  says err 'the Mali compiler needs qemu-aarch64-static, which is not here: install it (tools/setup mali)'
  run with-driver arm64 true
  code_is 77
  one_sentence
  says err 'install it (tools/setup aarch64)'
}

test_missing_maker_of_folders_is_77() {
  make_emulator
  rm "$box/bin/mmdebstrap"
  only_these bash env dirname sed cat id uname readlink
  run with-driver --check mali
  code_is 77
  one_sentence
  says err 'is made by mmdebstrap, which is not here: install it (tools/setup mali)'
}

test_arm64_machine_enters_the_folder() {
  make_emulator
  program dpkg <<<'echo arm64'
  run with-driver mali bash -c 'echo "$LD_PRELOAD $RUSTICL_ENABLE"; exit 5'
  code_is 5
  says out 'libpanfrost_noop_drm_shim.so panfrost'
  says calls '--architectures=arm64'
  lacks calls ' -E '
}

test_version_of_mesa() {
  make_emulator
  local driver
  for driver in mali mali-testing arm64 llvmpipe; do
    run with-driver --version "$driver"
    code_is 0
    [[ $(<"$box/out") == 'Mesa 25.0.7-2+deb13u1' ]] || wrong "$driver has another version"
  done
  lacks calls arm-program
  rm -r "$box/home/cache/clam/drivers/mesa-debian13-arm64/usr/share/doc"
  run with-driver --version mali
  code_is 77
  one_sentence
}

test_version_of_the_machines_own_mesa() {
  run with-driver --version llvmpipe
  [[ $(<"$box/out") == 'Mesa 25.0.7-2' ]] || wrong "another version"
}

# ---- package ------------------------------------------------------------------------------

# What it calls, where the sysroot is there; the build leaves an archive.
make_cross_compiler() {
  mkdir -p "$box"/home/cache/clam/drivers/sysroot-debian11-{arm64,amd64}
  local name
  for name in aarch64-linux-gnu-g++ x86_64-linux-gnu-g++ dpkg-deb qemu-aarch64-static qemu-x86_64-static; do
    program "$name" <<<'true'
  done
  program ../tree/build-x86_64/clam <<<'true'
  program python3 <<<'exit 1'
  program cpack <<<'echo "cpack $PWD" >>"$BOX/calls"; touch clam-0-linux-aarch64.tar.zst clam_0_arm64.deb'
}

test_build_for_aarch64_prints_the_archive() {
  make_cross_compiler
  run package "$box/elsewhere"
  code_is 0
  [[ $(<"$box/out") == "$box/elsewhere/clam-0-linux-aarch64.tar.zst"$'\n'"$box/elsewhere/clam_0_arm64.deb" ]] ||
    wrong "it is not the paths alone"
  says calls "cmake --preset archive -B $box/elsewhere -DCLAM_ARCHIVE=aarch64"
  says calls "drivers/sysroot-debian11-arm64"
  says calls "-DCLAM_BUILD_TESTS=ON"
  run package --no-tests "$box/elsewhere"
  code_is 0
  says calls "-DCLAM_BUILD_TESTS=OFF"
  run package "$box/elsewhere" --no-tests
  code_is 2
  says err "one folder, and the flags before it"
  run package --x86_64
  code_is 0
  says calls "-B $box/tree/build-x86_64 -DCLAM_ARCHIVE=x86_64"
  says calls "drivers/sysroot-debian11-amd64"
  run package
  says out /tree/build-aarch64/clam-0-linux-aarch64.tar.zst
}

test_package_here_takes_what_was_built() {
  make_cross_compiler
  rm -rf "$box/tree/build/clam"
  run package --here
  code_is 77
  says err 'there is no whole build here: tools/test makes one'
  run package --here --no-tests
  code_is 2
  says err '--no-tests is for other machines'
  run package --here --x86_64
  code_is 2
  program ../tree/build/clam <<<'true'
  touch "$box"/tree/build/{manifest.json,CPackConfig.cmake}
  program dpkg-shlibdeps <<<'true'
  program zstd <<<'true'
  program cpack <<<'echo "cpack $PWD $*" >>"$BOX/calls"; touch "$2/clam-0-linux-x86_64.tar.zst" "$2/clam_0_amd64.deb"'
  run package --here "$box/elsewhere"
  code_is 0
  says out "$box/elsewhere/clam_0_amd64.deb"
  says calls "cpack $box/tree/build -B $box/elsewhere"
  says err 'no source archive is made, for this tree is no repository'
}

test_build_for_aarch64_that_fails_is_3() {
  make_cross_compiler
  program cmake <<<'echo "error: no such thing"; exit 1'
  run package
  code_is 3
  says err 'error: no such thing'
  [[ ! -s $box/out ]] || wrong "an archive is named"
}

test_build_for_aarch64_without_its_compiler_is_77() {
  only_these bash env dirname sed realpath readlink
  run package
  code_is 77
  one_sentence
  says err 'needs aarch64-linux-gnu-g++, which is not here: install it (tools/setup build aarch64)'
}

# ---- test ---------------------------------------------------------------------------------------

test_sums_are_added_up() {
  run test
  code_is 0
  last_line_is '12 passed, 0 failed, 2 skipped'
  says out 'pocl: 5 passed, 0 failed, 1 skipped ('
  says calls 'pocl.icd --gtest_filter=*'
  says calls 'rusticl.icd --gtest_filter=*_device.every_kernel_is_right_in_f16'
  says calls 'cmake -G Ninja'
  grep -qx "ninja -C $box/tree/build" "$box/calls" || wrong "not all targets are built"
}

test_failures_are_added_up() {
  built clam-tests <<<'echo dense_device.; echo "4 passed, 2 failed, 0 skipped"; exit 1'
  run test
  code_is 1
  last_line_is '10 passed, 4 failed, 0 skipped'
}

test_failures_are_shown_again_at_the_end() {
  built clam-tests <<'END'
[[ $1 != --gtest_list_tests ]] || { echo dense_device.; exit; }
printf '\033[0;32m[ RUN      ] \033[mdense_device.edges\n7 is not 8\n'
printf '\033[0;31m[  FAILED  ] \033[mdense_device.edges (3 ms)\n'
echo '[ RUN      ] dense_device.fine'
echo 'of no interest'
echo '[       OK ] dense_device.fine (3 ms)'
echo '[  FAILED  ] dense_device.edges'
echo '4 passed, 1 failed, 0 skipped'
exit 1
END
  program ../tree/tests/tools/tools_test.sh <<'END'
echo 'FAILED  a check'; echo '  wrong'; echo 'ok      another'; echo 'unseen'; echo '1 passed, 1 failed, 0 skipped'; exit 1
END
  run test
  code_is 1
  says out '9 passed, 3 failed, 0 skipped'
  local end
  end=$(sed -n '/^what failed:/,$p' "$box/out")
  [[ $end == "what failed:
pocl: [  FAILED  ] dense_device.edges (3 ms)
    7 is not 8
llvmpipe: [  FAILED  ] dense_device.edges (3 ms)
    7 is not 8
the tests of tools/: FAILED  a check
      wrong
"* && $end != *unseen* && $end != *interest* && $end != *"  1 passed"* ]] || wrong "the end is $end"
}

test_crash_is_a_named_failure() {
  built clam-tests <<'END'
[[ $1 != --gtest_list_tests ]] || { echo dense_device.; exit; }
[[ $OCL_ICD_VENDORS == *pocl* ]] || { echo '3 passed, 0 failed, 0 skipped'; exit; }
echo '[ RUN      ] dense_device.edges'
kill -SEGV $$
END
  run test
  code_is 1
  last_line_is '5 passed, 1 failed, 0 skipped'
  says out 'pocl: the program crashed (signal SEGV, no sum) in or after dense_device.edges'
  sed -n '/^what failed:/,$p' "$box/out" | grep -q 'pocl: the program crashed' || wrong "not at the end"
}

test_crash_after_the_sum_is_a_failure() {
  built clam-tests <<<'echo dense_device.; echo "4 passed, 0 failed, 0 skipped"; kill -ABRT $$'
  run test
  code_is 1
  last_line_is '10 passed, 2 failed, 0 skipped'
}

test_missing_driver_is_a_skip_with_its_sentence() {
  rm "$box/root/etc/OpenCL/vendors/pocl.icd"
  run test
  code_is 0
  says err 'PoCL is not on this machine: install pocl-opencl-icd'
  last_line_is '7 passed, 0 failed, 2 skipped'
  says calls 'rusticl.icd --gtest_filter=*'
  lacks calls '_device'
}

test_nothing_that_could_run_is_77() {
  built clam-tests <<<'echo dense_device.; echo "0 passed, 0 failed, 9 skipped"; exit 77'
  echo 'echo "0 passed, 0 failed, 0 skipped"' >"$box/tree/tests/tools/tools_test.sh"
  run test
  code_is 77
  last_line_is '0 passed, 0 failed, 18 skipped'
  built clam-tests <<<'echo dense_device.; exit 77'
  run test
  last_line_is '0 passed, 0 failed, 2 skipped'
}

test_room_selects_its_suites() {
  run test dense --gtest_repeat=2
  code_is 0
  says calls '--gtest_filter=dense.*:dense_device.*:dense_broken.*:dense_scripted.*-slow.*:slower.*:slowest.*:oclgrind.*:mali_bars.*:cli.real_mali_* --gtest_repeat=2'
  says calls '--gtest_filter=dense_device.every_kernel_is_right_in_f16 --gtest_repeat=2'
  last_line_is '10 passed, 0 failed, 2 skipped'
}

test_two_processes_share_the_tests() {
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || { echo dense_device. && exit; }
    echo "shard $GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS${CLAM_TEST_AGAIN:+ again}"; echo "5 passed, $GTEST_SHARD_INDEX failed, 0 skipped"
    exit "$GTEST_SHARD_INDEX"'
  CLAM_TEST_JOBS=2 run test
  code_is 1
  says out 'shard 0 of 2'
  says out 'shard 1 of 2'
  says out 'shard 0 of 2 again'
  says out '22 passed, 2 failed, 0 skipped'
}

# A part that has none of the tests asked for would be an error.
test_a_filter_of_ones_own_is_not_shared() {
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || { echo dense_device. && exit; }
    echo "${GTEST_TOTAL_SHARDS:-1} passed, 0 failed, 0 skipped"'
  CLAM_TEST_JOBS=2 run test --gtest_filter=plan.golden_files
  code_is 0
  lacks out ' of 2'
}

test_every_part_of_the_full_tests_runs_once() {
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || { echo dense_device. && exit; }
    echo "shard $GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS${CLAM_TEST_AGAIN:+ again}"
    [[ $GTEST_SHARD_INDEX != 0 ]] || sleep 1
    [[ $GTEST_SHARD_INDEX != 5 ]] || kill -SEGV $$
    echo "1 passed, 0 failed, 0 skipped"'
  CLAM_TEST_JOBS=2 run test --full
  code_is 1
  local part
  for part in {0..15}; do
    [[ $(grep -cx "shard $part of 16" "$box/out") == 1 ]] || wrong "part $part did not run once"
    says out "shard $part of 16 again"
  done
  says out 'pocl, part 6 of 16: the program crashed'
  says out 'llvmpipe, part 6 of 16: the program crashed'
}

test_parts_beside_others_are_counted_too() {
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || { echo dense_device. && exit; }
    echo "1 passed, 0 failed, 0 skipped"'
  program ../tree/tests/tools/tools_test.sh <<<'echo "2 passed, 0 failed, 0 skipped"'
  program ../tree/tests/tools/aarch64_test.sh <<<'echo "0 passed, 0 failed, 1 skipped"; exit 77'
  program ../tree/tests/tools/debian_test.sh <<<'echo "release $1"; echo "3 passed, 1 failed, 0 skipped"; exit 1'
  local jobs
  for jobs in 1 2; do
    CLAM_TEST_JOBS=$jobs run test --full
    code_is 1
    says out 'the tests of tools/: 2 passed, 0 failed, 0 skipped'
    says out 'aarch64: 0 passed, 0 failed, 1 skipped'
    says out 'release 13'
    says out 'Debian 13: 3 passed, 1 failed, 0 skipped'
  done
  says out 'begun beside what follows'
  program ../tree/tests/tools/tools_test.sh <<<'kill -KILL $PPID; sleep 1'
  CLAM_TEST_JOBS=2 run test --full
  code_is 1
  says out 'the tests of tools/: the program crashed (signal KILL'
}

test_a_part_whose_process_is_killed_is_a_failure() {
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || { echo dense_device. && exit; }
    : >"$BOX/began.$GTEST_SHARD_INDEX.${CLAM_TEST_AGAIN:-}"
    until [[ $(compgen -G "$BOX/began.?.${CLAM_TEST_AGAIN:-}" | wc -l) == 2 ]]; do sleep 0.1; done
    [[ $(readlink /proc/$$/fd/1) != *.[01] ]] || kill -KILL $PPID
    echo "1 passed, 0 failed, 0 skipped"'
  CLAM_TEST_JOBS=2 run test
  code_is 1
  says out 'of 2: the program crashed (signal KILL'
  last_line_is '6 passed, 2 failed, 0 skipped'
}

test_room_without_device_tests_runs_once() {
  built clam-tests <<<'[[ $1 == --gtest_list_tests ]] || echo "3 passed, 0 failed, 0 skipped"'
  run test plan
  code_is 0
  last_line_is '3 passed, 0 failed, 0 skipped'
}

test_unknown_room_is_2() {
  built clam-tests <<<'echo "clam-tests: no test is selected; there are the parts dense" >&2; exit 2'
  run test desne
  code_is 2
  says out 'there are the parts dense'
  run test dense softmax
  code_is 2
  run test --fulll
  code_is 2
}

test_full_is_passed_by_environment() {
  built clam-tests <<<'echo dense_device.; echo "${CLAM_TEST_FULL:-0} passed, 0 failed, 0 skipped"'
  run test dense
  code_is 77
  run test dense --full
  last_line_is '2 passed, 0 failed, 0 skipped'
}

# The home is left alone. PoCL keeps its own programs; what other drivers build is kept; a board keeps few.
test_caches_of_the_tests() {
  built clam-tests <<<'[[ $1 != --gtest_list_tests ]] || exec echo dense_device.
    echo "cache $CLAM_CACHE_DIR of ${CLAM_CACHE_MB:-128}"; echo "3 passed, 0 failed, 0 skipped"'
  unset CLAM_CACHE_DIR CLAM_CACHE_MB
  run test dense
  says out 'cache off of 1000'
  says out '/build/test-cache/programs of 1000'
  CLAM_CACHE_DIR=/its/own run test plan
  says out 'cache /its/own of 128'
  make_board
  echo '0:0 Mali-G610 r0p0' >"$box/devices"
  run test plan
  says out '/build/test-cache/programs of 128'
}

test_slow_parts_are_of_full_alone() {
  built clam <<<'[[ "$1 $2" == "mali --gate" ]] && echo "4 passed, 0 failed, 1 skipped"'
  run test
  lacks out '== aarch64'
  lacks out '== the Mali compilers'
  lacks out '== tools/import-onnx'
  says calls 'pocl.icd --gtest_filter=*-slow.*:slower.*:slowest.*:oclgrind.*'
  run test --full
  code_is 0
  says out '== aarch64'
  says out '== the Mali compilers'
  says out '== tools/import-onnx'
  says calls 'pocl.icd --gtest_filter=*-slowest.*:oclgrind.*'
  says calls 'rusticl.icd --gtest_filter=*_device.*-slowest.*:cli*_device.*:oclgrind.*'
  last_line_is '36 passed, 0 failed, 5 skipped'
  run test aarch64
  last_line_is '3 passed, 0 failed, 0 skipped'
  echo 'echo "what to install" >&2; echo "0 passed, 0 failed, 1 skipped"; exit 77' \
    >"$box/tree/tests/tools/aarch64_test.sh"
  run test --full
  code_is 0
  says out 'what to install'
  last_line_is '33 passed, 0 failed, 6 skipped'
}

test_gate_that_cannot_run_is_a_skip_and_one_that_cannot_read_a_failure() {
  built clam <<<'echo "install qemu" >&2; exit 77'
  run test --full
  code_is 0
  says out 'install qemu'
  built clam <<<'echo "expectations:3: no such word" >&2; exit 2'
  run test --full
  code_is 1
  says out 'expectations:3: no such word'
}

test_full_installs_what_it_needs_and_plain_does_not() {
  program dpkg <<<'echo amd64'
  printf '%s\n' qemu-user-static >"$box/missing"
  run test
  lacks calls qemu-user-static
  run test --full
  says calls 'install -y --no-install-recommends qemu-user-static'
}

test_build_that_fails_is_3() {
  program ninja <<<'echo "error: no such thing" >&2; exit 1'
  run test
  code_is 3
  says err 'error: no such thing'
  program cmake <<<'echo "CMake Error: fmt is not found"; exit 1'
  run test
  code_is 3
  says err 'CMake Error: fmt is not found'
}

# ---- bench --------------------------------------------------------------------------------------

test_bench_passes_flags_and_names_the_file() {
  built_bench <<<'echo "$*" >"$BOX/flags"; echo table; touch -d +1min "${@: -1}"; exit 1'
  run bench --quick --benchmark_filter=dense
  code_is 1
  says flags "--quick --benchmark_filter=dense --json $box/tree/build/bench.json"
  says err "the rows are in $box/tree/build/bench.json"
  [[ $(<"$box/out") == table ]] || wrong "standard output is not the table alone"
  run bench --json "$box/mine.json"
  says flags "--json $box/mine.json"
  lacks flags bench.json
  says err "the rows are in $box/mine.json"
}

test_bench_compare_reads_files_and_writes_none() {
  built_bench <<<'echo "$*" >"$BOX/flags"; exit 1'
  mkdir "$box/passing"
  TMPDIR=$box/passing run bench --compare a.json b.json
  code_is 1
  [[ $(<"$box/flags") == "--compare a.json b.json" ]] || wrong "it was given $(<"$box/flags")"
  ! grep -q pocl "$box/calls" || wrong "a driver was installed to compare two files"
  [[ -z $(ls "$box/passing") ]] || wrong "its temporary folder stays"
}

# Neither tests nor, before there are rows, what makes the page.
test_bench_builds_what_it_runs_alone() {
  built_bench <<<'echo clam-bench >>"$BOX/calls"; [[ $1 == --list ]] || touch -d +1min "${@: -1}"'
  run bench --list
  code_is 0
  [[ $(grep '^ninja' "$box/calls") == "ninja -C $box/tree/build clam-bench" ]] ||
    wrong "another target was built for a list"
  : >"$box/calls"
  run bench --quick
  code_is 0
  [[ $(grep -E '^(ninja|clam)' "$box/calls") == "ninja -C $box/tree/build clam-bench
clam-bench
ninja -C $box/tree/build clam
clam --quiet report $box/tree/build/bench.json -o $box/tree/build/bench.html" ]] ||
    wrong "not built, measured and reported in this order, or more was built"
  says err "a page to look at is $box/tree/build/bench.html"
}

test_bench_keeps_its_rows_where_the_page_cannot_be_made() {
  built_bench <<<'touch -d +1min "${@: -1}"; exit 1'
  program ninja <<<'[[ ${@: -1} != clam ]] || { echo "error: no such thing" >&2; exit 1; }'
  run bench
  code_is 1
  says err 'error: no such thing'
  says err "the rows are in $box/tree/build/bench.json"
  lacks err 'a page to look at'
}

test_bench_installs_pocl_only_without_a_device() {
  built_bench <<<'true'
  echo pocl-opencl-icd >"$box/missing"
  run bench
  code_is 0
  lacks calls pocl-opencl-icd
  : >"$box/devices"
  run bench --list
  lacks calls pocl-opencl-icd
  run bench
  says calls 'install -y --no-install-recommends pocl-opencl-icd'
}

# clam-bench measures 100 us, and finds a run slower as often as the file "slow" has lines; a line is what
# it writes of that.
make_comparing_bench() {
  built_bench <<'END'
echo "$*" >>"$BOX/calls"
[[ $1 == --compare ]] || { echo 100 >"${@: -1}" && touch -d +1min "${@: -1}" && exit; }
cat "${@:2:$#-3}" >"$BOX/compared"
[[ -s $BOX/slow ]] || exit 0
head -1 "$BOX/slow" >"${@: -1}" && sed -i 1d "$BOX/slow"
exit 1
END
  echo 90 >"$box/base.json"
  : >"$box/slow"
}

test_bench_against_compares_with_an_earlier_run() {
  make_comparing_bench
  run bench --quick --against "$box/base.json" --dtype f32
  code_is 0
  says calls "--quick --dtype f32 --json $box/tree/build/bench.json"
  says calls --compare
  [[ $(<"$box/compared") == $'90\n100' ]] || wrong "base and run were not compared"
  says calls "--compare $box/base.json $box/tree/build/bench.json"
  [[ $(grep -c -e ^--quick "$box/calls") == 1 ]] || wrong "it measured more than once"
  run bench --against="$box/tree/build/bench.json"
  [[ $(<"$box/compared") == $'100\n100' ]] || wrong "the base was lost when the run was written"
}

test_bench_against_is_1_when_a_regression_shows_twice() {
  make_comparing_bench
  mkdir "$box/passing"
  printf 'x\nx\n' >"$box/slow"
  TMPDIR=$box/passing run bench --against "$box/base.json"
  code_is 1
  says err 'measuring once more'
  [[ $(<"$box/compared") == $'90\n100\n100' ]] || wrong "the second comparison is not of both runs"
  says calls "--compare $box/base.json $box/tree/build/bench-first.json $box/tree/build/bench.json --json"
  says err "the first is $box/tree/build/bench-first.json"
  [[ -z $(ls "$box/passing") ]] || wrong "a temporary file is left"
  echo x >"$box/slow"
  run bench --against "$box/base.json"
  code_is 0
}

test_bench_against_is_1_at_once_where_a_row_is_invalid() {
  make_comparing_bench
  echo '      "verdict": "INVALID"' >"$box/slow"
  run bench --against "$box/base.json"
  code_is 1
  [[ $(grep -c -e '--compare' "$box/calls") == 1 ]] || wrong "it measured once more"
}

test_bench_against_keeps_the_base_whatever_it_writes() {
  make_comparing_bench
  printf 'x\nx\n' >"$box/slow"
  echo 80 >"$box/tree/build/bench-first.json"
  run bench --against "$box/tree/build/bench-first.json"
  code_is 1
  [[ $(<"$box/compared") == $'80\n100\n100' ]] || wrong "the base was lost when the first run was kept"
}

test_bench_against_needs_a_file_and_a_run() {
  make_comparing_bench
  run bench --against
  code_is 2
  run bench --against "$box/none.json"
  code_is 2
  says err "there is no file $box/none.json to compare with"
  run bench --against "$box/base.json" --peers
  code_is 2
  built_bench <<<'[[ $1 != --compare ]] || touch "$BOX/compared"; exit 77'
  run bench --against "$box/base.json"
  code_is 77
  [[ ! -e $box/compared ]] || wrong "it compared what was not measured"
  built_bench <<<'[[ $1 != --compare ]] || touch "$BOX/compared"; exit 1'
  run bench --against "$box/base.json"
  code_is 3
  says err 'no rows were written: nothing is compared'
  [[ ! -e $box/compared ]] || wrong "it compared what was not measured"
}

test_bench_peers_has_a_program_and_a_file_of_its_own() {
  printf '%s\n' libclblast-dev libopenblas-dev >"$box/missing"
  built_bench <<<'touch "$BOX/alone"'
  built clam-bench-peers <<<'echo "$*" >"$BOX/flags"; touch -d +1min "${@: -1}"; exit 1'
  echo 'build clam-bench-peers: link' >"$box/tree/build/build.ninja"
  run bench --peers --node 'dense*'
  code_is 1
  says calls "ninja -C $box/tree/build clam-bench clam-bench-peers"
  says calls 'install -y --no-install-recommends libclblast-dev libopenblas-dev'
  says flags "--node dense* --json $box/tree/build/peers.json"
  lacks flags --peers
  says err "the rows are in $box/tree/build/peers.json"
  [[ ! -e $box/alone ]] || wrong "clam-bench ran too"
  run bench --json "$box/mine.json" --peers
  says flags "--json $box/mine.json"
  lacks flags peers.json
}

test_bench_peers_without_clblast_is_77() {
  built_bench <<<'touch "$BOX/alone"'
  run bench --peers
  code_is 77
  says err 'CLBlast is not on this machine: install libclblast-dev'
  [[ ! -e $box/alone ]] || wrong "clam-bench ran instead"
}

# ---- new-op -------------------------------------------------------------------------------------

# The whole project, in place of the scripts alone.
copy_project() {
  cp -r "$tree"/{CMakeLists.txt,kernels,host,tests,bench} "$box/tree/"
}

# A room whose function returns something else would link, since the linker does not see what it returns.
test_new_op_writes_the_function_that_the_build_declares() {
  copy_project
  run new-op shiny
  code_is 0
  grep -qF 'string(APPEND op_declarations "Op ${op}_op();' "$tree/CMakeLists.txt" || wrong "ops are declared otherwise"
  printf '#include "clam/op.hpp"\nnamespace clam {\nOp shiny_op();\n}\n#include "ops/shiny.cpp"\n' >"$box/room.cpp"
  g++ -std=c++17 -fsyntax-only -I "$box/tree/host" -I "$box/tree/host/include" -I "$box/tree/host/ops" "$box/room.cpp" ||
    wrong "what new-op writes is not what the build declares"
}

test_new_op_refuses_what_is_no_name_or_exists() {
  copy_project
  run new-op
  code_is 2
  says err 'usage: tools/new-op NAME'
  run new-op Bad-Name
  code_is 2
  says err "'Bad-Name' is no op name"
  run new-op dense
  code_is 2
  says err 'kernels/dense.cl exists already; nothing was written'
}

# Slow, as it builds, so in tests/weekly only: a room passes its own test as new-op writes it.
[[ -z $weekly ]] ||
  test_new_op_writes_a_room_that_builds_and_passes() {
    copy_project
    run new-op shiny
    code_is 0
    says out 'next: tools/test shiny'
    (
      cd "$box/tree"
      cmake -S . -B build -DCLAM_OPS=shiny -DCLAM_BUILD_CLI=OFF -DCLAM_BUILD_BENCH=OFF -G Ninja &&
        cmake --build build --target clam-tests &&
        build/clam-tests --gtest_filter='shiny*:shared_text.*'
    ) >"$box/out" 2>"$box/err" || wrong "the new room does not build, or fails its test"
    grep -qx '    shiny' "$box/tree/CMakeLists.txt" || wrong "shiny is not in CLAM_OPS"
    says out ' 0 failed, '
    says out 'shiny_device.groups_of_every_size_pass'
  }

# ---- what judges other scripts' rows ------------------------------------------------------------

# rows_judged WANTED LINE...: of a table with these lines above its sum.
rows_judged() {
  local got=wrong
  printf '%s\n' "${@:2}" >"$box/rows"
  (source "$tree/tests/tools/checks.sh" && rows_are_right "$box/rows") && got=right
  [[ $got == "$1" ]] || wrong "judged $got: ${*:2}"
}

test_rows_are_judged_without_their_time() {
  rows_judged right '22 passed, 0 failed, 0 skipped'
  rows_judged right 'INVALID dense m=8, dense_packed: condition 5, work: too fast' '21 passed, 1 failed, 0 skipped'
  rows_judged wrong 'INVALID dense m=8, dense_packed: condition 3, right: no' '21 passed, 1 failed, 0 skipped'
  rows_judged wrong 'ERROR dense m=8, dense_packed: the device failed' '21 passed, 1 failed, 0 skipped'
  rows_judged wrong '  node  INVALID dense m=8, dense_packed: condition 3, right: no' '21 passed, 1 failed, 0 skipped'
  rows_judged wrong '21 passed, 1 failed, 0 skipped'
  rows_judged wrong '21 passed, 0 failed, 1 skipped'
  rows_judged wrong 'terminate called'
  [[ $(echo '21 passed, 1 failed, 0 skipped' | (source "$tree/tests/tools/checks.sh" && count_rows)) == 22 ]] ||
    wrong "the rows are not counted"
}

# ---- all of them --------------------------------------------------------------------------------

main() {
  local test passed=0 failed=0
  while read -r test; do
    if (run_one "$test"); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done < <(declare -F | awk -v word="${1:-}" '$3 ~ /^test_/ && index($3, word) { print $3 }')
  echo "$passed passed, $failed failed, 0 skipped"
  [[ $failed == 0 ]]
}

# In a process of its own: what it exports ends with it.
run_one() {
  # Without it, the made-up programs would become those of this machine.
  box=$(mktemp -d) || { echo "FAILED  ${1#test_}: no temporary folder" && exit 1; }
  make_machine
  "$1"
  local name=${1#test_}
  if [[ -z $problems ]]; then
    echo "ok      ${name//_/ }"
  else
    echo "FAILED  ${name//_/ }"
    printf '%s' "$problems"
    sed 's/^/    err: /' "$box/err" | tail -n 5
    sed 's/^/    out: /' "$box/out" | tail -n 5
  fi
  rm -rf "$box"
  [[ -z $problems ]]
}

main "$@"
