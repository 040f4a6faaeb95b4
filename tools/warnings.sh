#!/bin/sh
# Compiles every C source with gcc and clang: C11 and C23, all warnings errors,
# with OpenMP and without.
set -eu
cd "$(dirname "$0")/../src"

include=$(Rscript -e 'cat(R.home("include"))')
flags="-Wall -Wextra -Wpedantic -Wstrict-prototypes -Wvla -Werror -O2 \
-DR_NO_REMAP -DSTRICT_R_HEADERS -Icore -I../inst/include -isystem $include"
object=$(mktemp)
trap 'rm -f "$object"' EXIT

# compile COMPILER FLAGS...
compile() {
  for source in *.c core/*/*.c; do
    # shellcheck disable=SC2086  # a list of flags
    "$@" $flags -c -o "$object" "$source"
  done
  echo "clean: $*"
}

compile gcc -std=c11 -fopenmp
compile gcc -std=c11 -Wno-unknown-pragmas
compile gcc -std=c2x -fopenmp
compile clang -std=c11 -Wno-unknown-pragmas
compile clang -std=c2x -Wno-unknown-pragmas
