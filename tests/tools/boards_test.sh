#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# boards_test.sh - tests of tools/boards: many boards by ssh, and a phone by adb.
#
# The boards are sshds of this test on loopback ports, each with a home of its own. The archive holds
# scripts in place of clam and clam-bench; adb is a script too. Nothing outside a temporary folder is
# written, but for /run/sshd, which goes again if it was not there.
# One line a test, and the sum as the last line; 77 and a sentence where nothing could run.
# shellcheck disable=SC2317,SC2016  # `check` calls what it is given; what a script says is expanded when it runs
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$tree/tests/tools/checks.sh"
box=$(mktemp -d) # the made-up machine: tree/ has the scripts, a folder each board its home
run_lock=
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || sshd=
export BOX=$box ANSIBLE_CONFIG=$box/ansible.cfg ANSIBLE_NOCOLOR=1
unset ANDROID_SERIAL CLAM_ADB_FOLDER ANSIBLE_FORKS

main() {
  trap clean EXIT
  mkdir -p "$box"/{bin,home,only,tree/build,tree/tools}
  touch "$box/ansible.cfg" # none of this machine counts
  cp -r "$tree/tools/lib.sh" "$tree/tools/boards" "$box/tree/tools"
  for name in bash dirname sed date timeout; do ln -s "$(type -P "$name")" "$box/only"; done
  check_phones
  check_words
  if can_play_boards; then check_boards; fi
  finish
}

clean() {
  local file
  for file in "$box"/*.sshd; do stop "$file"; done
  rm -rf "$box"
  [[ -z $run_lock || ! -e /run/sshd/boards_test ]] || ! flock -n "$run_lock" || rm -r /run/sshd
}

# stop FILE: the process whose id it holds, if it is there.
stop() { [[ ! -e $1 ]] || kill "$(<"$1")" 2>/dev/null || true; }

# script FILE: an executable; its text comes from standard input.
script() {
  mkdir -p "$(dirname "$1")"
  { echo '#!/usr/bin/env bash' && cat; } >"$1"
  chmod +x "$1"
}

# run NAME TOOL [ARGUMENT...]: leaves NAME.out, NAME.err and NAME.code.
run() {
  local code=0
  (cd "$box/home" && HOME=$box/home PATH=${only:-$box/bin:$PATH} timeout 600 "$box/tree/tools/boards/$2" "${@:3}") \
    >"$box/$1.out" 2>"$box/$1.err" </dev/null || code=$?
  echo "$code" >"$box/$1.code"
}

# says NAME CODE PATTERN...: it ended with CODE, and each pattern has a line of its output.
says() {
  local pattern
  for pattern in "${@:3}"; do
    grep -qE -e "$pattern" "$box/$1.out" "$box/$1.err" || { shows "$1" "it does not say '$pattern'" && return 1; }
  done
  [[ $(<"$box/$1.code") == "$2" ]] || { shows "$1" "it did not end with $2" && return 1; }
}

shows() {
  echo "  $2; it ended with $(<"$box/$1.code"), its output:"
  tail -n 40 "$box/$1.out" "$box/$1.err" | sed 's/^/    /'
}

# ---- phones -------------------------------------------------------------------------------------

# What the script says to the phone's shell runs here, with phone/ for the phone's /data.
make_phone() {
  script "$box/bin/adb" <<'END'
here() { echo "${1//\/data\/local\/tmp/$BOX/phone}"; }
case $1 in
  devices) echo "List of devices attached"; cat "$BOX/phones" ;;
  shell) [[ $# == 2 ]] && exec sh -c "$(here "$2")" ;;
  push)
    echo "push ${ANDROID_SERIAL:-}" >>"$BOX/pushes"
    cp -r "$2" "$(here "$3")"
    [[ ! -e $BOX/cable-out ]]
    ;;
  pull) cp "$(here "$2")" "$3" ;;
esac
END
  mkdir -p "$box/phone"
  printf 'one\tdevice\n\n' >"$box/phones"
  script "$box/programs/hello" <<'END'
echo "$HOME $CLAM_CACHE_DIR $#: $*"
touch "$HOME/may-write" && [[ ! -e old.json ]] && echo '{}' >new.json
exit "$1"
END
  export CLAM_ADB_FOLDER=$box/programs
}

pushes() { [[ $(wc -l <"$box/pushes") == "$1" ]] || { echo "  pushed $(wc -l <"$box/pushes") times" && return 1; }; }

check_phones() {
  local clam=$box/phone/clam
  make_phone
  touch "$box/cable-out"
  run half adb-run hello 0
  check "half a push is said, and does not count" says half 3 '^adb-run: adb could not send'
  rm "$box/cable-out"
  run one adb-run --pull new.json hello 7 "it's two  words" '$HOME'
  check "a phone runs what was pushed and gives back its exit code" \
    says one 7 "^$clam/home $clam/home/programs 3: 7 it's two  words \\\$HOME\$"
  check "and a file is brought back" test -s "$box/home/new.json"
  run two adb-run hello 0
  check "it is pushed once" pushes 2 # with the half
  echo '# changed' >>"$box/programs/hello"
  run three adb-run --pull old.json hello 0
  check "what has changed is pushed again" pushes 3
  check "a file that is not there is said" says three 3 'adb-run: the phone has no file old.json'
  printf 'one\tdevice\ntwo\tdevice\nthree\toffline\n' >"$box/phones"
  run several adb-run hello 0
  check "several phones need a name" says several 2 '^adb-run: adb sees several phones: name one of one two by ANDROID_SERIAL$'
  ANDROID_SERIAL=two run named adb-run hello 0
  check "a named one is taken" says named 0 '1: 0'
  ANDROID_SERIAL=three run offline adb-run hello 0
  check "a named one that is not there is said" says offline 77 'does not see three'
  printf 'one\tunauthorized\n' >"$box/phones"
  run none adb-run hello 0
  check "no phone is said" says none 77 '^adb-run: adb sees no phone: '
  only=$box/only run no_adb adb-run hello 0
  check "no adb is said" says no_adb 77 '^adb-run: adb is not here: install it'
  check_phone_archive
}

check_phone_archive() {
  printf 'one\tdevice\n' >"$box/phones"
  unset CLAM_ADB_FOLDER
  run empty adb-run hello 0
  check "no archive is said" says empty 77 'build-aarch64 has no archive'
  if ! command -v zstd >/dev/null; then
    skip "the archive of a phone: zstd is not here"
    return
  fi
  mkdir -p "$box"/{tree/build-aarch64,pack/clam-1}
  cp -r "$box/programs" "$box/pack/clam-1/bin"
  tar --zstd -C "$box/pack" -cf "$box/tree/build-aarch64/clam-1-linux-aarch64.tar.zst" clam-1
  run packed adb-run hello 4
  check "the programs come from the archive" says packed 4 '1: 4'
}

# ---- what needs no board ------------------------------------------------------------------------

check_words() {
  run help run --help
  check "run has a help" says help 0 '^tools/boards/run .-i INVENTORY' '^Code 77 means that Ansible is missing'
  run adb_help adb-run --help
  check "adb-run has a help" says adb_help 0 '^No phone was tried\.'
  only=$box/only run no_ansible run
  check "no Ansible is said" says no_ansible 77 'ansible-playbook is not here: install it \(tools/setup boards\)$'
}

# ---- boards -------------------------------------------------------------------------------------

can_play_boards() {
  local program
  for program in ansible-playbook ssh ssh-keygen flock zstd; do
    command -v "$program" >/dev/null || { skip "boards: $program is not here" && return 1; }
  done
  [[ -n $sshd ]] || { skip "boards: sshd is not here (Debian: openssh-server)" && return 1; }
  [[ $(id -u) != 0 ]] || hold_run_folder
  ssh-keygen -q -t ed25519 -N '' -f "$box/key"
  start_board healthy
  # shellcheck disable=SC2046
  if ! ssh $(ssh_flags) -p "$(<"$box/healthy.port")" 127.0.0.1 true 2>"$box/healthy.err"; then
    sed 's/^/  /' "$box/healthy.err"
    skip "boards: an sshd of this user lets nobody in"
    return 1
  fi
}

# An sshd of root wants /run/sshd. The last test that holds it removes it, if a test made it.
hold_run_folder() {
  until [[ -n $run_lock && /run/sshd -ef /proc/self/fd/$run_lock ]]; do
    ! mkdir /run/sshd 2>/dev/null || touch /run/sshd/boards_test
    exec {run_lock}</run/sshd || continue
    flock -s "$run_lock"
  done
}

ssh_flags() { echo "-F none -i $box/key -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=$box/known"; }

# start_board NAME: an sshd whose home is the folder NAME. A port that is taken is no matter.
start_board() {
  local port tries=0
  mkdir -p "$box/$1"
  touch "$box/$1.log"
  script "$box/$1.sftp" <<<"echo sent >>\"\$HOME/sent\"; exec $(sftp_server)"
  until [[ -e $box/$1.port ]]; do
    ((++tries < 100)) || { cat "$box/$1.log" && check "an sshd starts" false && finish; }
    port=$((20000 + RANDOM))
    printf '%s\n' "ListenAddress 127.0.0.1:$port" "HostKey $box/key" "AuthorizedKeysFile $box/key.pub" 'StrictModes no' \
      'UsePAM no' 'PasswordAuthentication no' 'PidFile none' "SetEnv HOME=$box/$1" "Subsystem sftp $box/$1.sftp" >"$box/$1.conf"
    ([[ -z $run_lock ]] || exec {run_lock}>&-; exec "$sshd" -D -f "$box/$1.conf" -E "$box/$1.log") &
    echo $! >"$box/$1.sshd"
    disown # its end is no news
    until grep -q '^Server listening' "$box/$1.log" && echo "$port" >"$box/$1.port"; do
      kill -0 $! 2>/dev/null || break
      sleep 0.05
    done
  done
  echo "[127.0.0.1]:$port $(<"$box/key.pub")" >>"$box/known"
}

sftp_server() { find /usr/lib /usr/libexec -name sftp-server -print -quit 2>/dev/null; }

# pack NAME: an archive with programs that only play theirs. Two at once on a board leave a word, and
# "act" in the home of a board says what goes wrong there.
pack() {
  local top=$box/$1/clam-1-linux-fake
  script "$top/bin/clam" <<'END'
case $0:$1 in
  *clam-bench:--quick) step=bench text='{"benchmarks": [], "clam": {"rows": [{"validity": "OK"}]}}' sum='1 passed, 0 failed, 0 skipped' ;;
  *clam:doctor) step=doctor text='{"clam_doctor": 1, "faults": 0, "findings": []}' sum='0 faults, 2 notes' ;;
  *clam:verify) step=verify text='{"clam_verify": 1, "passed": 4, "failed": 0}' sum='4 passed, 0 failed, 0 skipped' ;;
  *clam:probe) step=probe text='{"clam_probe": 1, "counts": {"OK": 60, "BUG": 0}}' sum='60 OK, 0 BUG, 0 HANG, 0 CRASH, 1 SKIP' ;;
  *) exit 2 ;;
esac
mkdir "$HOME/measuring" 2>/dev/null || echo "$step beside another" >>"$HOME/overlap"
[[ ! -e $HOME/act ]] || source "$HOME/act"
for json; do :; done
echo "$text" >"$json"
echo "a line of $step, ${RUSTICL_ENABLE:-none}"
echo "$sum"
rmdir "$HOME/measuring"
exit "${code:-0}"
END
  cp "$top/bin/clam" "$top/bin/clam-bench"
  tar --zstd -C "$box/$1" -cf "$box/$1.tar.zst" "$(basename "$top")"
}

# The board dies: its sshd goes, and what the sshd started for this connection.
act_death() {
  cat >"$box/$1/act" <<'END'
if [[ $step == bench ]]; then
  first=$(<"$HOME.sshd") dead=() pid=$PPID
  rm "$HOME.sshd"
  while [[ $pid -gt 1 && $pid != "$first" ]]; do
    ! grep -q '^Name:.*sshd' "/proc/$pid/status" || dead+=("$pid")
    pid=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status")
  done
  kill -9 "$first" "${dead[@]}"
fi
END
}

# The first step of two runs goes on when the other is seen waiting for it.
act_contention() {
  touch "$box/$1/first"
  cat >"$box/$1/act" <<'END'
if mv "$HOME/first" "$HOME/second" 2>/dev/null; then
  for ((i = 0; i < 3000; ++i)); do
    ! grep -qs 'another run is on this board' "$HOME"/.cache/clam/boards/run-*/*.txt || break
    sleep 0.1
  done
  ((i < 3000)) || echo "nobody waited" >>"$HOME/overlap"
fi
END
}

# inventory NAME BOARD...: a board "NAME=PORT" has no sshd.
inventory() {
  local board
  {
    for board in "${@:2}"; do
      [[ $board == *=* ]] || board+=$(sed 's/^/=/' "$box/$board.port")
      echo "${board/=/ ansible_port=}"
    done
    echo '[all:vars]'
    echo 'ansible_host=127.0.0.1'
    echo "ansible_ssh_common_args='$(ssh_flags)'"
    echo 'clam_environment={"RUSTICL_ENABLE": "pan frost"}'
  } >"$box/$1.ini"
}

# boards NAME INVENTORY ARCHIVE [FLAG...]: a run of its own folder, NAME.results.
boards() { run "$1" run -i "$box/$2.ini" --archive "$box/$3.tar.zst" -o "$box/$1.results" "${@:4}"; }

has_files() {
  local file
  for file in board.txt {doctor,bench,verify,probe}.{json,txt,code}; do
    [[ -s $1/$file ]] || { echo "  $1/$file is not there" && return 1; }
  done
  grep -qx 'a line of verify, pan frost' "$1/verify.txt"
}

# sent BOARD NUMBER: so many archives were sent to it.
sent() { [[ $(grep -c sent "$box/$1/sent") == "$2" ]]; }

# Of the board: one folder of programs, and nothing half.
is_tidy() { [[ $(ls "$box/$1/.cache/clam/boards") == "$(printf '%s\n' "$(sha256sum <"$box/fake.tar.zst" | cut -c 1-64)" lock | sort)" ]]; }

check_boards() {
  start_board dying
  pack fake
  act_death dying
  script "$box/tree/build/clam" <<<'echo "$*" >>"$BOX/reports"; touch "${@: -1}"'
  check_archive
  check_half
  check_three
  check_two_runs
  check_faults
}

# Without --archive it is built. The archive may be any of the lines that it prints.
check_archive() {
  inventory one healthy
  script "$box/tree/tools/package" <<<'exit 77'
  run cannot run -i "$box/one.ini" -o "$box/cannot.results"
  check "what cannot build the archive ends it" says cannot 77
  script "$box/tree/tools/package" <<<'[[ $1 == --no-tests ]] && printf "%s\n" "$BOX/fake.deb" "$BOX/fake.tar.zst" "$BOX/fake.whl"'
}

# An archive that is cut off, and what an unpacking that was cut off would leave.
check_half() {
  head -c 300 "$box/fake.tar.zst" >"$box/cut.tar.zst"
  boards cut one cut
  check "half an archive is no program" says cut 3 '^healthy .*everything: no step ended, see ansible.log$'
  check "and nothing of it stays" test "$(ls "$box/healthy/.cache/clam/boards")" = lock
  mkdir -p "$box/healthy/.cache/clam/boards/new-abcdef/clam-1"
  touch -d '3 days ago' "$box/healthy/.cache/clam/boards/new-abcdef"
}

check_three() {
  inventory three absent=1 dying healthy
  boards three three fake
  check "a board that is not there is said" \
    says three 3 '^absent +- +- +- +- +everything: the board was not reached$'
  check "a board that dies keeps what it did, and says what is lost" says three 3 \
    '^dying +0 faults, 2 notes +- +- +- +bench: lost with the connection; verify: lost with the connection; probe: lost'
  check "the others go on" says three 3 \
    '^healthy +0 faults, 2 notes +1 OK, 0 INVALID, 0 skipped +4 passed, 0 failed, 0 skipped +60 OK, 0 BUG, 0 HANG, 0 CRASH, 1 SKIP +nothing$'
  check "their JSON, output and exit codes are brought back" has_files "$box/three.results/healthy"
  check "the page has the boards that brought rows" grep -qx -- \
    "--quiet report $box/three.results/healthy/bench.json -o $box/three.results/report.html" "$box/reports"
  check "the archive is sent to it once" sent healthy 2 # with the half
  boards three one fake
  check "a folder of results is not written over" says three 2 '^run: the folder .* cannot be made: name a new one with -o$'
  check "half an unpacking of another time goes" is_tidy healthy
}

check_two_runs() {
  local before after
  before=$(stat -c %i "$box"/healthy/.cache/clam/boards/*/bin/clam) || true
  act_contention healthy
  boards left one fake &
  boards right one fake
  wait $!
  after=$(stat -c %i "$box"/healthy/.cache/clam/boards/*/bin/clam) || true
  check "two runs at once both have everything" both_say 0 '^healthy .* nothing$'
  check "they never measure at once" test ! -e "$box/healthy/overlap" -a -e "$box/healthy/second"
  check "what is there is not sent again" sent healthy 2
  check "nor unpacked again" test "$before" -a "$before" = "$after"
}

both_say() { says left "$@" && says right "$@"; }

check_faults() {
  start_board busy
  start_board endless
  mkdir -p "$box/busy/.cache/clam/boards"
  (cd "$box/healthy/.cache/clam/boards" && cp -r ./*/ "$box/busy/.cache/clam/boards")
  echo 'exec sleep 1000' >"$box/endless/act"
  echo '[[ $step != verify ]] || code=1 sum="3 passed, 1 failed, 0 skipped"' >"$box/healthy/act"
  inventory faults busy endless
  sed -i '/^busy/s/$/ clam_wait=1/; /^endless/s/$/ clam_limit=1/' "$box/faults.ini"
  exec {lock}>>"$box/busy/.cache/clam/boards/lock"
  flock "$lock"
  boards faults faults fake &
  run wrong run -i "$box/one.ini" -o "$box/wrong.results"
  wait $!
  exec {lock}>&-
  check "a board that stays busy is left" says faults 3 '^busy .*doctor: the board stayed busy; .*; probe: the board stayed busy$'
  check "a step that does not end is ended" says faults 3 '^endless .*doctor: ended at its limit of time; .*; probe: ended at its'
  check "an archive is built where none is named, and a check that failed is 1" says wrong 1 '^healthy .* 3 passed, 1 failed, 0 skipped .* nothing$'
}

main "$@"
