#!/bin/sh
# Builds the source package with its vignettes and checks it as CRAN does; fails
# unless R CMD check reports nothing, exactly one symbol is exported and the
# package is below CRAN's size limit.  Options are those of R CMD check.
set -eu
cd "$(dirname "$0")/.."

version=$(sed -n 's/^Version: *//p' DESCRIPTION)
package=gibbsite_$version.tar.gz
rm -rf check/as-cran
mkdir -p check/as-cran
cd check/as-cran

# The check reads the sources as UTF-8, which it cannot do in the C locale.
case $(locale charmap) in
UTF-8) ;;
*) export LC_ALL=C.UTF-8 ;;
esac

# Checks that need the network or the machine's clock are left out; the manual
# uses fonts that every TeX has.
export _R_CHECK_CRAN_INCOMING_=false
# the tests that CRAN runs: `make test` runs all
export NOT_CRAN=false
export _R_CHECK_SYSTEM_CLOCK_=0
export _R_CHECK_FORCE_SUGGESTS_=false
export R_RD4PDF=times,hyper
# The check of R 4.4 and later states the installed size as information, that of
# older versions as a note. The byte code of R/ is 2.3 MB of it: a first call
# takes half the time with it.
export _R_CHECK_PKG_SIZES_THRESHOLD_=8

# The check renders the mathematics of the pages by V8, if it is installed.
Rscript -e 'quit(status = !requireNamespace("V8", quietly = TRUE))' ||
  export _R_CHECK_RD_MATH_RENDERING_=false

# Debian compiles R, and so every package, with flags that the check attributes
# to the package.
export _R_CHECK_COMPILATION_FLAGS_KNOWN_="-Wdate-time \
-Werror=format-security -Wformat"

R CMD build ../..
R CMD check --as-cran "$@" "$package" || true

log=gibbsite.Rcheck/00check.log
if ! grep -q '^Status: OK$' "$log"; then
  printf '\nR CMD check is not clean. %s\n' \
    "$(grep '^Status:' "$log" || echo 'It did not finish.')" >&2
  exit 1
fi

exported=$(nm -D --defined-only gibbsite.Rcheck/gibbsite/libs/gibbsite.so |
  awk '{ print $NF }' | tr '\n' ' ')
if [ "$exported" != "R_init_gibbsite " ]; then
  echo "The library exports more than R_init_gibbsite: $exported" >&2
  exit 1
fi

if [ "$(wc -c <"$package")" -gt 5000000 ]; then
  echo "$package is over 5 MB." >&2
  exit 1
fi

echo "0 errors, 0 warnings, 0 notes"
