#!/bin/sh
# tools/layering.sh must accept a good example and find each fault in a bad one.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# example NAME: a small tree of sources without a fault
example() {
  mkdir -p "$scratch/$1/core/model" "$scratch/$1/core/numeric" \
    "$scratch/$1/core/run" "$scratch/$1/core/other"
  printf 'OBJECTS = init.o \\\n  core/model/model.o\n' >"$scratch/$1/Makevars"
  cp "$scratch/$1/Makevars" "$scratch/$1/Makevars.win"
  printf '#include <Rinternals.h>\n\nSEXP C_model(SEXP x);\n' \
    >"$scratch/$1/init.h"
  printf '#include "init.h"\n' >"$scratch/$1/init.c"
  printf '#include <stddef.h>\nint model(size_t n);\n' \
    >"$scratch/$1/core/model/model.h"
  : >"$scratch/$1/core/numeric/rounding.h"
  printf '#include "numeric/rounding.h"\n' >"$scratch/$1/core/run/scan.h"
  printf '#include "run/scan.h"\n' >"$scratch/$1/core/other/other.h"
  {
    printf '#include "numeric/rounding.h"\n#include <math.h> /* for sqrt */\n'
    printf '#include "model/model.h"\n\n'
    printf '/* no SEXP here,\n   and no Rf_error() */\n'
    printf '// nor error()\n'
    printf 'static const char *const words[] = {"SEXP } error(", "it\\"s {"};\n'
    printf '#define TWICE(x) \\\n  do { (x); (x)\n'
    printf 'int model(size_t n) {\n'
    body 58
    printf '}\n'
  } >"$scratch/$1/core/model/model.c"
}

body() {
  awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) print "  n++;" }'
}

# refused NAME REASON: checks that the example fails for this reason
refused() {
  if found=$(tools/layering.sh "$scratch/$1"); then
    echo "tools/layering.sh accepts a bad example ($1)" >&2
    exit 1
  fi
  case $found in
  *"$2"*) ;;
  *)
    printf 'tools/layering.sh refuses "%s" for another reason:\n%s\n' \
      "$1" "$found" >&2
    exit 1
    ;;
  esac
}

core_ends_with() {
  example "$1"
  printf "$2" >>"$scratch/$1/core/model/model.c"
}

example good
tools/layering.sh "$scratch/good"

core_ends_with internals '#include <Rinternals.h>\n'
refused internals 'model.c:71: the core may not include <Rinternals.h>'
core_ends_with upwards '#include "../init.h"\n'
refused upwards 'may not include "../init.h"'
core_ends_with neighbour '#include "init.h"\n'
refused neighbour 'includes init.h, which is not of the core'
core_ends_with stranger '#include "other/other.h"\n'
refused stranger 'model.c:71: core/model may not include other/other.h'
core_ends_with kernel '#define LANES_KERNEL "other/other.h"\n'
refused kernel 'model.c:71: core/model may not include other/other.h'
core_ends_with shared '#include "run/scan.h"\n'
tools/layering.sh "$scratch/shared"
example climbs
printf '#include "model/model.h"\n' >>"$scratch/climbs/core/run/scan.h"
refused climbs 'scan.h:2: core/run may not include model/model.h'
example sinks
printf '#include "model/model.h"\n' >>"$scratch/sinks/core/numeric/rounding.h"
refused sinks 'core/numeric may not include model/model.h'
example runs
printf '#include "run/scan.h"\n' >>"$scratch/runs/core/numeric/rounding.h"
refused runs 'core/numeric may not include run/scan.h'
example loose
: >"$scratch/loose/core/loose.h"
refused loose 'loose.h: a source of the core stands in a folder'
core_ends_with stops 'void f(void) { Rf_error("no"); }\n'
refused stops 'may not use Rf_error'
core_ends_with remapped 'void f(void) { error("no"); }\n'
refused remapped 'may not use error'
core_ends_with object 'static int g(SEXP x) { return !x; }\n'
refused object 'may not use SEXP'
core_ends_with long "int f(int n)\n{\n$(body 58)\n}\n"
refused long 'model.c:71: a function of 61 lines'
example unrounded
sed -i.before 1d "$scratch/unrounded/core/model/model.c"
rm "$scratch/unrounded/core/model/model.c.before"
refused unrounded 'model.c:1: the core includes rounding.h first'
example unlisted
: >"$scratch/unlisted/core/other/other.c"
refused unlisted 'core/other/other.o is not listed'
example windows
sed 's|core/model/|core/other/|' "$scratch/windows/Makevars" \
  >"$scratch/windows/Makevars.win"
refused windows 'Makevars.win: core/model/model.o is not listed'
refused windows 'Makevars.win: core/other/model.o has no source'

# circle NAME: two sources of a model, of which one calls the other
circle() {
  example "$1"
  sed 's|model.o|model.o core/model/part.o|' "$scratch/$1/Makevars" \
    >"$scratch/$1/Makevars.win"
  cp "$scratch/$1/Makevars.win" "$scratch/$1/Makevars"
  printf 'int part(void);\n' >"$scratch/$1/core/model/part.h"
  printf '#include "numeric/rounding.h"\n#include "model/part.h"\n' \
    >"$scratch/$1/core/model/part.c"
  printf 'int part(void) { return 1; }\nint other(void);\n' \
    >>"$scratch/$1/core/model/part.c"
  printf 'int other(void) {\n  return part();\n}\n' \
    >>"$scratch/$1/core/model/model.c"
}

circle one_way
tools/layering.sh "$scratch/one_way"
circle calls
printf 'int back(void) { return other(); }\n' \
  >>"$scratch/calls/core/model/part.c"
refused calls 'a circle of sources: core/model/part -> core/model/model: other'
circle values
printf 'static int (*const f)(void) = {\n  other};\n' \
  >>"$scratch/values/core/model/part.c"
refused values 'core/model/part -> core/model/model: other'
# a function of the same name that the source has itself is another one
circle hidden
printf 'static int other(void) { return 2; }\nint g(void) { return other(); }\n' \
  >>"$scratch/hidden/core/model/part.c"
tools/layering.sh "$scratch/hidden"
circle through
printf 'int far(void) { return other(); }\n' >"$scratch/through/core/model/model.h"
printf 'int back(void) { return far(); }\n' \
  >>"$scratch/through/core/model/part.c"
refused through 'core/model/part -> core/model/model: far'
circle headers
printf '#include "model/part.h"\n' >>"$scratch/headers/core/model/model.h"
tools/layering.sh "$scratch/headers"
printf '#include "model/model.h"\n' >>"$scratch/headers/core/model/part.h"
refused headers 'core/model/part.h -> '
