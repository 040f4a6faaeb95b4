#!/bin/sh
# Compiles for Windows, with Debian's mingw-w64, every source that Makevars.win
# lists, core and glue: C11 and C23, with OpenMP and without, warnings as errors.
#
# This shows that Windows' compiler and headers accept the sources without a
# warning, and that they use no POSIX functions. Nothing is linked, with R.dll
# or otherwise, and nothing runs, so that a test on Windows is still needed
# before a claim about Windows.
#
# R's headers are the same on every system but Rconfig.h.  Windows' own differs
# from this machine's in two lines: src/gnuwin32/fixed/h/config.h of R's sources.
set -eu
cd "$(dirname "$0")/../src"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
include=$(Rscript -e 'cat(R.home("include"))')
sed -e 's|^#define HAVE_VISIBILITY_ATTRIBUTE .*|/* & */|' \
  -e 's|^#define HAVE_ALLOCA_H .*|/* & */|' \
  "$include/Rconfig.h" >"$scratch/Rconfig.h"

# the flags with which R compiles packages on Windows, and the C library there
windows="-O2 -mfpmath=sse -msse2 -mstackrealign -D_UCRT \
-isystem $scratch -isystem $include"
package=$(sed -n 's/^PKG_CPPFLAGS *= *//p' Makevars.win)
objects=$(tr ' \\' '\n\n' <Makevars.win | sed -n '/[.]o$/p')

# compile FLAGS...
compile() {
  for object in $objects; do
    # shellcheck disable=SC2086  # lists of flags
    x86_64-w64-mingw32-gcc "$@" -Wall -Wextra -Wpedantic -Wstrict-prototypes \
      -Wvla -Werror $windows $package -c -o "$scratch/object.o" \
      "${object%.o}.c"
  done
  echo "clean: $(x86_64-w64-mingw32-gcc -dumpmachine) $*"
}

# The first has the optimiser's warnings too, which takes most of the time; the
# others differ from it in what the compiler reads.
compile -std=gnu11 -fopenmp
compile -std=gnu11 -Wno-unknown-pragmas -fsyntax-only
compile -std=gnu2x -fopenmp -fsyntax-only
echo "Compiled for Windows; not linked, and not run."
