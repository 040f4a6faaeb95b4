#!/bin/sh
# Installs the packages that a target of the Makefile needs and this machine
# does not have. Does nothing, and needs no network, if nothing is missing.
#
#   tools/install.sh WORD...   run      to build the package and run it
#                              test     to run its tests
#                              test-c   to run the tests of the C core
#                              check    to run R CMD check
#                              develop  to document, lint and format
#                              compile  to compile with clang too
#                              debian   to examine it on another Debian
#                              emulate  and on another architecture
#                              mingw    to compile it for Windows
#                              bench    to compare with other packages
#
# The R packages are read from DESCRIPTION. On Debian and Ubuntu, as root,
# packages come from apt first; those that apt does not have, or only too old,
# are built from CRAN's sources.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL="${LC_ALL:-C.UTF-8}"

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

[ $# -gt 0 ] || usage
for word in "$@"; do
  case $word in
  run | test | test-c | check | develop | bench) ;;
  compile | debian | emulate | mingw) ;;
  *) usage ;;
  esac
done
words=" $* "

# asked WORD...: is one of these words among the arguments?
asked() {
  for word in "$@"; do
    case $words in *" $word "*) return 0 ;; esac
  done
  return 1
}

say() {
  printf '%s\n' "$*" >&2
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# ---- what the system must have ----------------------------------------------

has() {
  command -v "$1" >/dev/null 2>&1
}

# R, a C compiler, BLAS and LAPACK to link with: tried on a small library.
can_build_packages() {
  has R && has Rscript || return 1
  mkdir -p "$scratch/probe"
  printf '%s\n' '#include <R_ext/Lapack.h>' 'void probe(double *x, int *n);' \
    'void probe(double *x, int *n) {' \
    '  int info; F77_CALL(dpotrf)("L", n, x, n, &info FCONE);' '}' \
    >"$scratch/probe/probe.c"
  (cd "$scratch/probe" && R CMD SHLIB probe.c \
    $(R CMD config LAPACK_LIBS) $(R CMD config BLAS_LIBS) \
    $(R CMD config FLIBS)) >/dev/null 2>&1
}

# R's mathematics library and BLAS.
can_test_core() {
  has cc || return 1
  printf '%s\n' '#define MATHLIB_STANDALONE' '#include <Rmath.h>' \
    'double dnrm2_(int *n, double *x, int *step);' 'int main(void) {' \
    '  int one = 1; double x = norm_rand();' \
    '  return dnrm2_(&one, &x, &one) > 1e9;' '}' >"$scratch/rmath.c"
  cc -o "$scratch/rmath" "$scratch/rmath.c" -lRmath -lblas -lm >/dev/null 2>&1
}

# The manual's style files, by the Debian package that has them.
has_style() {
  has kpsewhich && [ -n "$(kpsewhich "$1")" ]
}

# Debian's names of the missing system packages, one a line.
missing_system() {
  has make || echo make
  if asked run test check develop bench; then
    can_build_packages || echo r-base-dev
  fi
  if asked test-c; then
    has cc || echo build-essential
    can_test_core || printf '%s\n' r-mathlib libblas-dev
  fi
  if asked check; then
    has qpdf || echo qpdf
    has tidy || echo tidy
    has pandoc || echo pandoc
    has pngquant || echo pngquant
    has pdflatex || echo texlive-latex-base
    has_style hyperref.sty || echo texlive-latex-base
    has_style fancyvrb.sty || echo texlive-latex-recommended
    has_style ptmr8t.tfm || echo texlive-fonts-recommended
    has_style lmodern.sty || echo lmodern
  fi
  if asked develop compile; then
    has clang || echo clang
  fi
  if asked develop; then
    has clang-format || echo clang-format
    has valgrind || echo valgrind
  fi
  if asked debian; then
    has debootstrap || echo debootstrap
    has git || echo git
  fi
  if asked emulate; then
    has update-binfmts || echo binfmt-support
    has qemu-aarch64-static || has qemu-aarch64 || echo qemu-user-static
  fi
  # bench/machines.R by MPI; Rmpi loads a file of libopenmpi-dev
  if asked bench; then
    has mpirun || printf '%s\n' openmpi-bin libopenmpi-dev
  fi
  if asked mingw; then
    has x86_64-w64-mingw32-gcc || echo gcc-mingw-w64-x86-64
  fi
}

# The same for libraries with which some optional packages are compiled:
# topicmodels
missing_libraries() {
  if asked bench; then
    has gsl-config || echo libgsl-dev
  fi
}

# ---- the R packages ----------------------------------------------------------

# "package version" of each entry of the given fields of DESCRIPTION
described() {
  awk -v fields=" $* " '
    /^[^ \t]/ { field = $1; sub(/:.*/, "", field); sub(/^[^:]*:/, "") }
    index(fields, " " field " ") {
      gsub(/[(),>=]/, " "); gsub(/ +[0-9][0-9.-]*/, "=&"); gsub(/= +/, "=")
      for (i = 1; i <= NF; i++) {
        name = version = $i
        sub(/=.*/, "", name)
        if (!sub(/^[^=]*=/, "", version)) version = 0
        print name, version
      }
    }' DESCRIPTION
}

# Since R 4.3 the check renders the mathematics of the pages as a browser does.
sets_mathematics() {
  has Rscript && Rscript -e 'quit(status = getRversion() < "4.3")'
}

base_packages=" R base compiler datasets graphics grDevices grid methods
 parallel splines stats stats4 tcltk tools utils "

wanted() {
  {
    described Depends Imports LinkingTo
    # data of the demonstration
    if asked run; then printf '%s 0\n' MASS; fi
    if asked test check; then described Suggests; fi
    if asked check && sets_mathematics; then printf '%s 0\n' V8; fi
    if asked develop; then
      printf '%s 0\n' roxygen2 lintr pkgdown
      described Suggests
    fi
    if asked bench && has Rscript; then
      Rscript bench/deps.R | sed 's/$/ 0/'
    fi
  } | while read -r name version; do
    case $base_packages in *[[:space:]]"$name"[[:space:]]*) continue ;; esac
    printf '%s %s\n' "$name" "$version"
  done | sort -u
}

# The target fails without these; for the others it prints a message.
needed() {
  described Depends Imports LinkingTo | cut -d ' ' -f 1
  if asked test check; then printf '%s\n' testthat withr; fi
  if asked check; then printf '%s\n' knitr rmarkdown; fi
  if asked develop; then printf '%s\n' roxygen2 lintr; fi
}

missing_packages() {
  if has Rscript; then
    wanted | Rscript tools/packages.R missing
  else
    wanted | cut -d ' ' -f 1
  fi
}

debian_name() {
  tr '[:upper:]' '[:lower:]' | sed 's/^/r-cran-/'
}

# ---- installing ---------------------------------------------------------------

is_root() {
  [ "$(id -u)" -eq 0 ]
}

# What apt-get does, in a line for every twenty packages.
show_progress() {
  new=0
  fetched=0
  unpacked=0
  ready=0
  while read -r first second third _; do
    case "$first $second" in
    [0-9]*" upgraded,") new=$third ;;
    Get:*) fetched=$((fetched + 1)) && tell "fetched" "$fetched" ;;
    "Unpacking "*) unpacked=$((unpacked + 1)) && tell "unpacked" "$unpacked" ;;
    "Setting up") ready=$((ready + 1)) && tell "ready" "$ready" ;;
    esac
  done
}

tell() {
  if [ $(($2 % 20)) -eq 0 ] || [ "$2" -eq "$new" ]; then
    say "  $2 of $new packages $1"
  fi
}

apt_install() {
  {
    status=0
    DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends \
      -o Dpkg::Use-Pty=0 install "$@" 2>&1 </dev/null || status=$?
    echo "$status" >"$scratch/status"
  } | tee "$scratch/apt.log" | show_progress
  [ "$(cat "$scratch/status")" -eq 0 ]
}

# apt_get PACKAGE...: those of them that apt has, together or, if that fails,
# each for itself
apt_updated=no
apt_get() {
  if [ "$apt_updated" = no ]; then
    apt-get -qq update || say "apt-get update failed; going on without."
    apt_updated=yes
  fi
  known=
  for package in "$@"; do
    if apt-cache policy "$package" | grep -q 'Candidate: [^(]'; then
      known="$known $package"
    fi
  done
  [ -n "$known" ] || return 0
  say "Installing from Debian:$known"
  # shellcheck disable=SC2086  # a list of words
  apt_install $known && return 0
  for package in $known; do
    apt_install "$package" || {
      tail -n 5 "$scratch/apt.log" >&2
      say "apt-get could not install $package."
    }
  done
}

# one line out of many
words_of() {
  tr '\n' ' ' | sed 's/ $//'
}

system=$(missing_system | sort -u)
packages=$(missing_packages)
[ -n "$system$packages" ] || exit 0

if has apt-get; then
  from_apt=$(printf '%s\n' $system $(missing_libraries) \
    $(printf '%s\n' $packages | sed '/^$/d' | debian_name) |
    sed '/^$/d' | words_of)
  if is_root; then
    # shellcheck disable=SC2086
    apt_get $from_apt
    if asked bench check; then
      # R may be new here: what bench/deps.R names, what its check needs
      # shellcheck disable=SC2046
      apt_get $(missing_packages | debian_name)
    fi
  else
    say "This needs packages that an administrator can install with"
    say "  apt-get install --no-install-recommends $from_apt"
  fi
fi

system=$(missing_system | sort -u | words_of)
if [ -n "$system" ]; then
  say "Missing, by the names that Debian gives them: $system"
  has apt-get || say "Install them with this system's package manager."
  has apt-get && is_root || say "Then give the same command again."
  exit 1
fi

packages=$(missing_packages | words_of)
if [ -n "$packages" ]; then
  if has apt-get && is_root; then
    # CRAN is reached over TLS, and Debian may have the dependencies of its
    # packages
    [ -e /etc/ssl/certs/ca-certificates.crt ] || apt_get ca-certificates
    # shellcheck disable=SC2046,SC2086
    apt_get $(Rscript tools/packages.R depends $packages 2>/dev/null |
      debian_name)
  fi
  say "Installing from CRAN: $packages"
  # shellcheck disable=SC2086
  Rscript tools/packages.R install $packages </dev/null >"$scratch/cran.log" \
    2>&1 || true
fi

missing_packages >"$scratch/missing"
failed=$(needed | sort -u | grep -Fx -f "$scratch/missing" | words_of) || true
optional=$(needed | grep -Fxv -f - "$scratch/missing" | words_of) || true
if [ -n "$optional" ]; then
  say "Not installed, and what needs them is skipped: $optional"
fi
if [ -n "$failed" ]; then
  tail -n 40 "$scratch/cran.log" >&2
  say "Could not install: $failed"
  exit 1
fi
