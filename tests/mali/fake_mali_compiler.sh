#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stands in for tools/mali/compile: prints a listing of one instruction for each kernel of each job,
# and does what a word in a kernel's body says: CRASH, HANG, REFUSE, MUMBLE (a listing that nobody
# understands), or LATE (crashes when the listings are out). Before it hangs it does CLAM_FAKE_HANG. Of a kernel that has one in the folder
# CLAM_FAKE_LISTINGS it prints that listing. CLAM_FAKE_LOG counts its starts. With --testing it is another
# version, and its listings have the SHADER-DB line of Mesa 26.
set -euo pipefail

version=0.0-fake
if [[ ${1:-} == --testing ]]; then
  version=26-fake
  shift
fi
[[ ${1:-} != --version ]] || { echo "Mesa $version" && exit; }
[[ ${CLAM_FAKE_START:-} != none ]] || { echo "no compiler here" && exit 77; }
[[ -z ${CLAM_FAKE_LOG:-} ]] || echo "$PAN_GPU_ID" >>"$CLAM_FAKE_LOG"
echo "a word of the driver"

listing() {
  local stored=${CLAM_FAKE_LISTINGS:-/nowhere}/valhall_$1.txt
  [[ ! -e $stored ]] || { cat "$stored" && return; }
  echo "shader: MESA_SHADER_KERNEL"
  echo "decl_function __wrapped_$1 () (entrypoint)"
  echo "   $2.end "
  if [[ $version == 26-fake ]]; then
    echo "MESA_SHADER_KERNEL shader: 1 instrs, 0.0 cycles, 0.0 fma, 0.015625 cvt, 0.0 sfu, 0.0 v, 0.0 t, 0.0 ls, 128 code size, 2 threads, 0 loops, 0:0 spills:fills, 0 spill cost, 4 registers used, 0 uniforms used"
  else
    echo "SHADER-DB: MESA_SHADER_KERNEL shader: 1 inst, 0.0 cycles, 0.0 fma, 0.015625 cvt, 0.0 sfu, 0.0 v, 0.0 t, 0.0 ls, 1 quadwords, 2 threads, 0 loops, 0:0 spills:fills"
  fi
}

while IFS=$'\t' read -r name source options; do
  echo "clam: begin $name"
  text=$(<"$source")
  case $text in
    *CRASH*) echo "thread panicked at half log" && kill -ABRT $$ ;;
    *HANG*) eval "${CLAM_FAKE_HANG:-}" && exec sleep 1000 ;;
    *REFUSE*)
      printf 'clam: end %s failed\n%s\n' "$name" "input.cl:1:1: error: refused with $options"
      echo "clam: log end"
      continue
      ;;
  esac
  word=NOP
  [[ $text != *MUMBLE* ]] || word=MUMBLE.i32
  while read -r kernel; do
    listing "$kernel" "$word"
    listing "$kernel" "$word"
  done < <(sed -n 's/^__kernel .*void \([a-z0-9_]*\)(.*/\1/p' "$source")
  [[ $text != *LATE* ]] || kill -SEGV $$
  echo "clam: end $name ok"
done <"$1"
