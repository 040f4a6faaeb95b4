#!/bin/sh
# tools/bits.sh [BUILD ...]: do all installed compilers draw the same bits?
#
# The installed package (R_LIBS names its library) is copied, its compiled code
# is built again for each BUILD, and tools/bits.R is run on it: its lines must
# be those of the first BUILD. A BUILD is a compiler with its flags; by default
# each of gcc and clang at -O0, -O2 and -O3, then gcc with vectors of at most 32
# and of 16 bytes. The last two give the same draws as the widest vectors,
# except for operations that are fused if the processor can (vignette Design):
# these lines are left out there.
#   FILTER=bmf      the lines that match
#   KEEP=DIRECTORY  the lines of each BUILD stay there, to be compared with those
#                   of another machine
set -eu
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kept=${KEEP:-$scratch/lines}
mkdir -p "$kept"
filter=${FILTER:-.}
processor_alone='^(bmf|logistic|laplace)'

installed=$(Rscript -e 'cat(find.package("gibbsite"))')
mkdir "$scratch/library"
cp -r "$installed" "$scratch/library/"
loaded=$(ls "$scratch"/library/gibbsite/libs/gibbsite.*)

# compilers NAME: those of NAME, NAME-11, NAME-12, ... that are installed
compilers() {
  for directory in $(printf '%s' "$PATH" | tr ':' ' '); do
    for file in "$directory/$1" "$directory/$1"-[0-9] "$directory/$1"-[0-9][0-9]
    do
      [ ! -x "$file" ] || printf '%s\n' "${file##*/}"
    done
  done | sort -uV
}

# only one of several names of the same version
default_builds() {
  for family in gcc clang; do
    compilers "$family" | while read -r compiler; do
      printf '%s %s\n' "$("$compiler" -dumpfullversion 2>/dev/null ||
        "$compiler" -dumpversion)" "$compiler"
    done | sort -u -k 1,1V | while read -r _ compiler; do
      printf '%s\n' "$compiler -O2" "$compiler -O0" "$compiler -O3"
    done
  done
  printf '%s\n' 'gcc -O2 -DLANES_MOST=32' 'gcc -O2 -DLANES_MOST=16'
}

# build BUILD: the compiled code of the copied package
build() {
  rm -rf "$scratch/src"
  mkdir "$scratch/src"
  cp -r src "$scratch/src/src"
  cp -r inst "$scratch/src/inst"
  rm -f "$scratch"/src/src/*.o "$scratch"/src/src/core/*/*.o
  # linked without Fortran's and OpenMP's libraries, which another compiler may
  # not find; threads change no draw
  {
    printf 'CC = %s\nCFLAGS = -g0 %s\n' "${1%% *}" "${1#* }"
    printf 'FLIBS =\nSHLIB_OPENMP_CFLAGS =\n'
  } >"$scratch/Makevars"
  (cd "$scratch/src/src" &&
    R_MAKEVARS_USER="$scratch/Makevars" R CMD SHLIB -o "${loaded##*/}" \
      ./*.c core/*/*.c) >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    exit 1
  }
  cp "$scratch/src/src/${loaded##*/}" "$loaded"
}

status=0
first=
[ "$#" -gt 0 ] || {
  default_builds >"$scratch/builds"
  set --
  while read -r line; do set -- "$@" "$line"; done <"$scratch/builds"
}
for build in "$@"; do
  lines=$kept/$(printf '%s' "$build" | tr -c 'A-Za-z0-9\n' _)
  build "$build"
  R_LIBS="$scratch/library${R_LIBS:+:$R_LIBS}" Rscript tools/bits.R "$filter" \
    >"$lines"
  case $build in
  *LANES_MOST*) compare() { grep -vE "$processor_alone" "$1" || true; } ;;
  *) compare() { cat "$1"; } ;;
  esac
  : "${first:=$lines}"
  compare "$first" >"$scratch/expected"
  compare "$lines" >"$scratch/found"
  different=$(diff "$scratch/expected" "$scratch/found" | grep -c '^>' || true)
  printf '%-32s %3s of %s lines differ\n' "$build" "$different" \
    "$(wc -l <"$scratch/found")"
  if [ "$different" -gt 0 ]; then
    diff "$scratch/expected" "$scratch/found" | sed -n 's/^> /  /p'
    status=1
  fi
done
exit "$status"
