#!/bin/sh
# Tests the package on another release of Debian, or another architecture, in a
# chroot that debootstrap makes from this machine's own apt sources.
#
#   tools/debian.sh SUITE ARCH [STEP...]     builds the chroot unless it is
#                                            there, and takes the steps
#   tools/debian.sh possible SUITE ARCH      says why not, and fails, where
#                                            this machine cannot do so
#   STEP  compile  the package by gcc and by clang, a warning an error
#         exact    the tests that take minutes on an emulated processor
#         TARGET   of the Makefile: test-c, test (FILTER=regexp for some
#                  files), check, mingw, ...
#
# Without a STEP: test-c, test and check on amd64 and on the machine's own
# architecture; compile, test-c and exact on arm64; test-c on any other.
#
# A chroot is kept for the next time in $GIBBSITE_CHROOTS (/var/cache/gibbsite).
# Remove its directory to have it built again. It holds no sources between runs.
# Its mounts end with the run, even if the run is killed, because they are in a
# mount namespace of the run.
set -eu
cd "$(dirname "$0")/.."

chroots=${GIBBSITE_CHROOTS:-/var/cache/gibbsite}
# the sources within the chroot
inside=/srv/gibbsite
# a completely built chroot has this file; its text is the version of the
# chroot's layout
built=etc/gibbsite-chroot
form=1

# The files of tests/testthat whose short selection takes only minutes on an
# emulated processor: the streams of random numbers; for each model a sweep
# against its R twin, closed forms, tiny cases by enumeration.
exact_tests='^(streams|(gmm|logistic|lda|bmf|mh)-exact)$'

say() {
  printf '%s\n' "$*" >&2
}

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2
  exit 2
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# ---- this machine ------------------------------------------------------------

native=
if has dpkg; then
  native=$(dpkg --print-architecture)
fi

emulated() {
  [ "$arch" != "$native" ] && [ "$native $arch" != "amd64 i386" ]
}

# what qemu calls the architecture
processor() {
  case $arch in
  arm64) echo aarch64 ;;
  armhf | armel) echo arm ;;
  ppc64el) echo ppc64le ;;
  amd64) echo x86_64 ;;
  loong64) echo loongarch64 ;;
  *) echo "$arch" ;;
  esac
}

# apt's sources of binary packages, one a line: KEYRING URI SUITE COMPONENT...
# where KEYRING is "-" if no keyring is named. Both of apt's formats are read.
apt_sources() {
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$file" ] || continue
    sed -n 's/#.*//; s/^[ \t]*deb[ \t]\{1,\}//p' "$file" |
      awk '{
        keyring = "-"
        if (match($0, /^\[[^]]*\][ \t]*/)) {
          n = split(substr($0, 2, RLENGTH - 1), option, /[] \t]+/)
          for (i = 1; i <= n; i++)
            if (sub(/^signed-by=/, "", option[i])) keyring = option[i]
          $0 = substr($0, RLENGTH + 1)
        }
        $1 = $1
        print keyring, $0
      }'
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] || continue
    awk '
      function put(    i, j, n, m, uri, suite) {
        if (value["types"] ~ /(^| )deb( |$)/ && value["enabled"] != "no") {
          if (value["signed-by"] !~ /^\//) value["signed-by"] = "-"
          n = split(value["uris"], uri, " ")
          m = split(value["suites"], suite, " ")
          for (i = 1; i <= n; i++)
            for (j = 1; j <= m; j++)
              print value["signed-by"], uri[i], suite[j], value["components"]
        }
        split("", value)
      }
      /^#/ { next }
      /^[ \t]*$/ { put(); next }
      /^[^ \t]/ {
        field = tolower($0); sub(/:.*/, "", field); sub(/^[^:]*:/, "")
      }
      { gsub(/[ \t]+/, " "); sub(/^ /, ""); sub(/ $/, "")
        value[field] = value[field] (value[field] == "" ? "" : " ") $0 }
      END { put() }' "$file"
  done
}

# The same for the requested release: this machine's sources of its own release,
# with the name of the release replaced.
wanted_sources() {
  own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  apt_sources | awk -v own="$own" -v suite="$suite" '
    $3 == own || $3 ~ "^" own "[-/]" {
      $3 = suite substr($3, length(own) + 1)
      print
    }'
}

# the line of the release itself, without its updates
archive() {
  wanted_sources | awk -v suite="$suite" '$3 == suite { print; exit }'
}

# in_archive URI RELEASE: does it exist, by apt's own methods and proxies?
in_archive() {
  probe=$(mktemp)
  answer=0
  /usr/lib/apt/apt-helper -qq download-file "$1/dists/$2/Release" "$probe" \
    >/dev/null 2>&1 || answer=1
  rm -f "$probe"
  return $answer
}

is_built() {
  [ -f "$root/$built" ] && [ "$(cat "$root/$built")" = "$form" ]
}

reachable() {
  # shellcheck disable=SC2046  # a line of words
  set -- $(archive)
  in_archive "$2" "$3"
}

# Prints the reason why this machine cannot have the chroot, or nothing.
why_not() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "it needs root"
  elif ! has debootstrap || ! has unshare || ! has flock; then
    echo "it needs debootstrap"
  elif [ -z "$(archive)" ]; then
    echo "apt names no archive of this machine's own release"
  elif ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "this machine lets nobody mount"
  elif emulated && ! has "qemu-$(processor)-static" &&
    ! has "qemu-$(processor)"; then
    echo "it needs qemu-user-static and binfmt-support"
  elif is_built; then
    return
  elif [ ! -e "/usr/share/debootstrap/scripts/$suite" ]; then
    echo "debootstrap does not know $suite"
  elif ! reachable; then
    echo "the archive cannot be reached, or has no $suite"
  fi
}

# Programs of another processor run once the kernel knows their interpreter.
prepare_emulation() {
  misc=/proc/sys/fs/binfmt_misc
  [ -e $misc/status ] || mount -t binfmt_misc binfmt_misc $misc
  [ -e "$misc/qemu-$(processor)" ] ||
    update-binfmts --enable "qemu-$(processor)"
}

# ---- the chroot --------------------------------------------------------------

# in_chroot COMMAND...: with no environment variables of this machine but
# proxies
in_chroot() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${CI:+CI="$CI"} \
    ${http_proxy:+http_proxy="$http_proxy"} \
    ${https_proxy:+https_proxy="$https_proxy"} \
    ${no_proxy:+no_proxy="$no_proxy"} \
    "$@" </dev/null
}

# This machine's apt settings for access to its sources.
apt_options() {
  apt-config dump | grep -E \
    '^Acquire::(http|https|ftp|Retries|Check|Force|Max|AllowInsecure)' |
    grep -v ' "";$' || true
}

make_base() {
  # shellcheck disable=SC2046  # a line of words
  set -- $(archive)
  keyring=$1 uri=$2
  shift 3
  components=$(echo "$*" | tr ' ' ',')
  packages="make"
  case $(wanted_sources) in *https:*) packages="make,ca-certificates" ;; esac
  say "Building $root (the log is $root.log)."
  [ "$keyring" = - ] || set -- --keyring="$keyring"
  [ "$keyring" != - ] || set --
  debootstrap --variant=minbase --arch="$arch" --include="$packages" \
    --components="$components" "$@" "$suite" "$root" "$uri" \
    >"$root.log" 2>&1 || {
    tail -n 20 "$root.log" >&2
    say "debootstrap failed."
    exit 1
  }
}

# The machine's sources, proxies and certificates, in the chroot's own apt.
configure_apt() {
  mkdir -p "$root/etc/apt/keyrings" "$root/usr/local/share/ca-certificates"
  rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
  wanted_sources | while read -r keyring uri release components; do
    option=
    if [ "$keyring" != - ]; then
      cp "$keyring" "$root/etc/apt/keyrings/"
      option="[signed-by=/etc/apt/keyrings/${keyring##*/}] "
    fi
    # a release may have no updates, or none yet
    if [ "$release" = "$suite" ] || in_archive "$uri" "$release"; then
      echo "deb $option$uri $release $components"
    fi
  done >"$root/etc/apt/sources.list"
  {
    apt_options
    echo 'APT::Keep-Downloaded-Packages "false";'
  } >"$root/etc/apt/apt.conf.d/20machine"
  # a lost chroot can be built again, so that dpkg need not flush to the disk
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/gibbsite"
  for certificate in /usr/local/share/ca-certificates/*.crt; do
    [ ! -e "$certificate" ] ||
      cp "$certificate" "$root/usr/local/share/ca-certificates/"
  done
  if [ -x "$root/usr/sbin/update-ca-certificates" ]; then
    in_chroot update-ca-certificates >>"$root.log" 2>&1
  fi
}

mount_all() {
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
}

# ---- the steps ---------------------------------------------------------------

default_steps() {
  case $arch in
  amd64 | "$native") echo test-c test check ;;
  arm64) echo compile test-c exact ;;
  *) echo test-c ;;
  esac
}

# the words for tools/install.sh for these steps
needs() {
  for step in "$@"; do
    case $step in
    compile) echo compile ;;
    mingw) echo mingw ;;
    exact) echo test ;;
    test-c | test | check) echo "$step" ;;
    esac
  done
}

# The tracked files in their current state, without files that are built here.
copy_sources() {
  rm -rf "${root:?}$inside"
  mkdir -p "$root$inside"
  tree=$(git -c user.name=none -c user.email=none stash create 2>/dev/null) ||
    tree=
  if git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
    git archive "${tree:-HEAD}" | tar -x -C "$root$inside"
  else
    tar -c --exclude=./check --exclude=./demo-output --exclude='*.o' \
      --exclude='*.so' --exclude=./tests/c/build . | tar -x -C "$root$inside"
  fi
}

in_sources() {
  # shellcheck disable=SC2016  # for the shell inside
  in_chroot sh -c 'cd "$0" && exec "$@"' "$inside" "$@"
}

# compile_by COMPILER LINE...: installs by this compiler, a warning an error,
# with these lines in R's Makevars too
compile_by() {
  compiler=$1
  shift
  printf '%s\n' "CC = $compiler" \
    'CFLAGS = -O2 -Wall -Wextra -Werror -Wno-unknown-pragmas' "$@" \
    >"$root$inside/compiler.mk"
  in_sources env R_MAKEVARS_USER="$inside/compiler.mk" make library || return 1
  say "clean on $arch: $(in_chroot "$compiler" --version | head -n 1)"
}

# uses the code compiled by the step before, if any, because compiling takes
# long
run_exact() {
  [ -d "$root$inside/check/library/gibbsite" ] || in_sources make library ||
    return 1
  in_sources env R_LIBS="$inside/check/library" NOT_CRAN=false \
    Rscript tools/test.R "${FILTER:-$exact_tests}"
}

take_step() {
  case $1 in
  test-c)
    if emulated; then
      # the run-time libraries of the sanitizers do not work under qemu
      in_sources make test-c SANITIZE=
    else
      in_sources make test-c
    fi
    ;;
  compile)
    # clang's OpenMP is a package of its own
    compile_by clang 'SHLIB_OPENMP_CFLAGS ='
    by_clang=$?
    compile_by gcc && [ $by_clang -eq 0 ]
    ;;
  exact) run_exact ;;
  # its tests are a part of those of the step test, and to build the package
  # runs its vignettes
  check)
    in_sources make check CHECK_OPTIONS="--no-vignettes${tested:+ --no-tests}"
    ;;
  *) in_sources make "$1" ${FILTER:+FILTER="$FILTER"} ;;
  esac
}

run_inside() {
  if ! is_built; then
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    make_base
    mount_all
    configure_apt
  else
    mount_all
    # if the next lines are interrupted, the chroot is incomplete
    rm "$root/$built"
  fi
  copy_sources
  words=$(needs "$@" | tr '\n' ' ')
  # shellcheck disable=SC2086  # a list of words
  in_sources tools/install.sh ${words:-run}
  echo "$form" >"$root/$built"

  tested=
  case " $* " in
  *" test "*) tested=yes ;;
  esac
  failed=
  for step in "$@"; do
    say "==== $suite $arch: $step"
    begin=$(date +%s)
    take_step "$step" || failed="$failed $step"
    say "==== $suite $arch: $step: $(($(date +%s) - begin)) s"
  done
  rm -rf "${root:?}$inside"
  if [ -n "$failed" ]; then
    say "Failed on $suite $arch:$failed"
    exit 1
  fi
  say "Passed on $suite $arch: $*"
}

# ---- beginning -----------------------------------------------------------------

# A function, so that the shell reads the whole file before it runs: a run takes
# long, and the file may change meanwhile.
main() {
  task=run
  case ${1-} in
  possible | inside)
    task=$1
    shift
    ;;
  esac
  [ $# -ge 2 ] || usage
  suite=$1 arch=$2
  shift 2
  root=$chroots/$suite-$arch
  # shellcheck disable=SC2046  # a list of words
  [ $# -gt 0 ] || set -- $(default_steps)

  if [ "$task" = inside ]; then
    run_inside "$@"
    exit 0
  fi
  reason=$(why_not)
  if [ -n "$reason" ]; then
    say "No chroot of $suite $arch: $reason."
    exit 1
  fi
  [ "$task" = run ] || exit 0
  begin_run "$@"
}

begin_run() {
  if emulated; then
    prepare_emulation
  fi
  mkdir -p "$chroots"
  # one run at a time in a chroot; the lock ends with the run's last process
  exec 9>"$root.lock"
  flock --nonblock 9 || {
    say "Waiting for another run in $root."
    flock 9
  }
  # What runs inside has its own mounts and processes, which end when it does, and
  # it ends with this script.  It is put in the background to be stopped at once by
  # a signal; a background process of a shell ignores Ctrl-C, which R must not.
  run=
  trap '[ -z "$run" ] || kill -s KILL "$run" 2>/dev/null; exit 130' HUP INT TERM
  setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork \
    --kill-child --mount-proc env --default-signal=INT,QUIT \
    tools/debian.sh inside "$suite" "$arch" "$@" &
  run=$!
  wait "$run"
  exit
}

main "$@"
