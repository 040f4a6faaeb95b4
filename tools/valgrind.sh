#!/bin/sh
# Runs the tests whose file matches the argument under valgrind; an invalid
# access, a use of an uninitialised value or a block lost for good fails.
set -eu
cd "$(dirname "$0")/.."
mkdir -p check
log=check/valgrind.log

# R's own regular expressions and the dynamic linker read past the ends of
# arrays in ways that valgrind's default suppressions cover.
status=0
NOT_CRAN=true OMP_NUM_THREADS=2 TESTTHAT_CPUS=1 R --no-echo --no-save --no-restore \
  -d "valgrind --quiet --leak-check=full --show-leak-kinds=definite \
--errors-for-leak-kinds=definite --error-exitcode=99 --log-file=$log" \
  -f tools/test.R --args "$@" </dev/null || status=$?

if grep -q '==.*\(Invalid\|uninitialised\|definitely lost\)' "$log"; then
  cat "$log" >&2
fi
exit "$status"
