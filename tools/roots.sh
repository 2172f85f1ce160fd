# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# roots.sh - private folders made of Debian's packages, for the scripts of this folder; it is sourced
# after lib.sh, never run. A root is made once, without rights, and needs neither a mount nor a chroot.

drivers=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/clam/drivers
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

arch='' triple='' # of this machine, once this_architecture was called

# What need_root makes. The caller sets the first two, and a description like mesa_root the rest.
root_words=    # what it is for, in messages
root_group=    # the group of tools/setup that has what makes it
root=          # its folder
root_size=     # what it costs
root_arch=     # Debian's name of its architecture
root_suite=    # the release of Debian
root_apt=()    # options of apt, each as --aptopt=...
root_hooks=()  # of mmdebstrap, before it unpacks
root_only=     # no root is made: one that is not there is refused
root_packages= # with commas between
root_more=     # packages of another release, whose .deb files go to usr/src
root_more_suite=
root_sources=  # source packages, whose files go to usr/src
root_folders=  # what is kept of the packages
root_finish=   # what else is to be done before the root is complete

cannot() { fail 77 "$*"; }

# Sets arch, Debian's name of this machine's architecture, and triple, the folder of its libraries
# below /usr/lib.
# shellcheck disable=SC2034  # the scripts read them
this_architecture() {
  arch=$(dpkg --print-architecture 2>/dev/null) || arch=$(uname -m)
  case $(uname -s)/$arch in
    Linux/amd64 | Linux/x86_64) arch=amd64 triple=x86_64-linux-gnu ;;
    Linux/arm64 | Linux/aarch64) arch=arm64 triple=aarch64-linux-gnu ;;
    *) cannot "$root_words is made for Linux on amd64 and arm64 only, and this is $(uname -s) on $arch" ;;
  esac
}

# mesa_root ARCHITECTURE [testing]: describes Debian 13's Mesa, the newest OpenCL of a Debian release, or
# that of Debian testing, which is newer. A mirror may be a snapshot, whose list of testing has expired.
mesa_root() {
  root=$drivers/mesa-debian13-$1
  root_arch=$1 root_suite=trixie root_apt=() root_hooks=() root_sources='' root_finish=true
  if [[ ${2:-} == testing ]]; then
    root=$drivers/mesa-debiantesting-$1
    root_suite=testing root_apt=(--aptopt='Acquire::Check-Valid-Until "false"')
  fi
  root_packages=mesa-opencl-icd,mesa-drm-shim,ocl-icd-libopencl1,libgcc-s1,libstdc++6
  root_folders="./usr ./etc/OpenCL"
  root_size="about 110 MB to download, 480 MB on disk"
}

# debian_root 12|13: describes that release with what builds and runs clam: compilers, libraries, drivers.
debian_root() {
  local group
  local -A suites=([12]=bookworm [13]=trixie)
  root=$drivers/debian$1-$arch
  root_words="Debian $1" root_group=llvmpipe
  root_arch=$arch root_suite=${suites[$1]} root_apt=() root_hooks=() root_sources=''
  root_size="about 550 MB to download, 2.5 GB on disk"
  root_folders="./usr ./etc"
  root_finish=finish_debian
  # The packages of Debian 12 have files in /lib and /lib64, those of 13 in /usr alone.
  # shellcheck disable=SC2016  # mmdebstrap expands it
  [[ $1 != 12 ]] || root_hooks=(--setup-hook='
    for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name" && ln -s "usr/$name" "$1/$name"; done')
  root_packages=$(
    for group in build pocl mesa python; do packages_of "$group"; done | sort -u | paste -sd ,
  ),clang,git,bash,dash,libc-bin,coreutils,diffutils,findutils,grep,sed,gzip,mawk,util-linux
}

# What the packages' own scripts would have set up. There is no list of packages, so dpkg goes.
finish_debian() {
  local libs=$1/usr/lib/$triple name
  rm -f "$1"/usr/bin/dpkg*
  for name in blas lapack; do ln -sf "$name/lib$name.so.3" "$libs/lib$name.so.3"; done
  ln -sf mawk "$1/usr/bin/awk"
  ln -sf gcc "$1/usr/bin/cc"
  ln -sf g++ "$1/usr/bin/c++"
  ln -sf /proc/self/mounts "$1/etc/mtab"
  printf 'root:x:0:0:root:/home:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
}

# Makes the root under another name and renames it when complete; one process at a time.
need_root() {
  [[ ! -d $root ]] || return 0
  [[ -z $root_only ]] || cannot "the folder of $root_words is not made yet"
  has mmdebstrap || cannot "$root_words is made by mmdebstrap, which is not here: install it" \
    "(tools/setup $root_group)"
  mkdir -p "$drivers" 2>/dev/null || cannot "the folder $drivers for $root_words cannot be made: set" \
    "XDG_CACHE_HOME to one that can"
  (
    flock -n 9 || { say "waiting for another process that makes $root_words" && flock 9; }
    [[ -d $root ]] || fill_root
  ) 9>"$root.lock"
}

fill_root() {
  local part=$root.part log=$root.log mirror again='' start=$SECONDS
  mirror=$(debian_mirror)
  remove_tree "$part"
  mkdir "$part"
  say "making $root_words in $root: $root_size"
  show_time $$ 9>&- &
  trap 'kill '"$!"' 2>/dev/null || true' EXIT
  until extract_packages "$mirror" "$part" 2>"$log"; do
    remove_tree "$part"
    [[ -z $again ]] || cannot "$root_words could not be made: $(why_not "$log") (all of it is in $log)"
    again=1 # a download that broke off is the common cause
    say "$root_words could not be made at once: $(why_not "$log"); trying again"
    mkdir "$part"
  done
  mv "$part" "$root"
  say "made $root_words in $((SECONDS - start)) s"
}

# The links are those of a merged /usr, where the packages of the release do not bring the folders;
# the empty folders are the places where with-driver puts the machine's own.
extract_packages() {
  local mirror=$1 part=$2 mode=unshare signed='' name
  local -a sources=()
  [[ $(id -u) != 0 ]] || mode=root
  [[ ! -r $keyring ]] || signed="[signed-by=$keyring]"
  # shellcheck disable=SC2016  # mmdebstrap expands it
  [[ -z $root_sources ]] || sources=("deb-src $signed $mirror ${root_more_suite:-$root_suite} main" --extract-hook='
    mkdir -p "$1/usr/src" && cd "$1/usr/src" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get source -qq --download-only '"$root_sources")
  # shellcheck disable=SC2016,SC2086  # mmdebstrap expands it; the packages are words
  [[ -z $root_more ]] || sources+=("deb $signed $mirror $root_more_suite main"
    --aptopt="APT::Default-Release \"$root_suite\"" --extract-hook='
    mkdir -p "$1/usr/src" && cd "$1/usr/src" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get download -qq '"$(printf "%s/$root_more_suite " $root_more)")
  # shellcheck disable=SC2086  # the folders are words
  mmdebstrap --mode="$mode" --variant=extract --format=tar --architectures="$root_arch" \
    "${root_apt[@]}" "${root_hooks[@]}" --include="$root_packages" "$root_suite" - "deb $signed $mirror $root_suite main" "${sources[@]}" |
    tar -x -C "$part" --no-same-owner $root_folders || return 1
  mkdir -p "$part"/usr/{bin,sbin,local,src,hostlib}
  for name in bin sbin lib lib64; do [[ -e $part/$name ]] || ln -s "usr/$name" "$part/$name"; done
  "$root_finish" "$part"
}

# The first complaint of a log, for one sentence.
why_not() { sed -nE '/^(E|tar): /{p;q}' "$1" | grep . || tail -n 1 "$1"; }

# Where this machine gets Debian from. Apt's lists may be empty (a fresh container): then they are
# fetched into a folder of their own, which needs no rights.
debian_mirror() {
  local uri lists
  uri=${CLAM_DEBIAN_MIRROR:-}
  if [[ -z $uri ]] && has apt-get; then
    uri=$(debian_of_apt)
    if [[ -z $uri ]] && grep -q '^ID=debian' /etc/os-release; then
      lists=$(mktemp -d)
      mkdir "$lists/partial"
      apt-get -o Dir::State::lists="$lists" -o Dir::Cache="$lists/cache" -o Debug::NoLocking=1 \
        -qq update >/dev/null 2>&1 || true
      uri=$(debian_of_apt -o Dir::State::lists="$lists")
      rm -rf "$lists"
    fi
  fi
  [[ -n $uri ]] || cannot "$root_words is made from Debian's packages, and this machine knows no Debian" \
    "mirror: set CLAM_DEBIAN_MIRROR to the address of one"
  printf '%s\n' "$uri"
}

debian_of_apt() {
  # shellcheck disable=SC2016  # apt expands it
  apt-get "$@" indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' 2>/dev/null | sed -n 1p
}

# show_time PID: a line that shows that work goes on, until PID ends. Short sleeps, because the last
# one outlives this function.
show_time() {
  local start=$SECONDS line
  while sleep 1 && kill -0 "$1" 2>/dev/null; do
    line="${0##*/}: making $root_words, $((SECONDS - start)) s"
    if [[ -t 2 ]]; then
      printf '%s\r' "$line" >&2
    elif (((SECONDS - start) % 10 == 0)); then
      printf '%s\n' "$line" >&2
    fi
  done
}

# Removing a folder that has something mounted inside would remove that too, so it is refused.
remove_tree() {
  [[ -e $1 ]] || return 0
  ! grep -qF " $(realpath "$1")/" /proc/self/mountinfo || cannot "$1 has a file system mounted inside:" \
    "unmount it, then remove that folder"
  rm -rf --one-file-system "$1"
}
