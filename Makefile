# Everything a person or a machine does with the sources.  `make help` lists it.
# What is made here lands in check/ and demo-output/, which git ignores.

SHELL := /bin/sh
.DEFAULT_GOAL := help
export LANG ?= C.UTF-8

VERSION := $(shell sed -n 's/^Version: *//p' DESCRIPTION)
# a run of the tests or of a bench script uses its own library
LIBRARY := $(CURDIR)/check/library
WITH_LIBRARY := R_LIBS="$(LIBRARY)$${R_LIBS:+:$$R_LIBS}"
FILTER ?=
export FILTER
# make check-debian: which Debian, and what of it (tools/debian.sh)
SUITE ?= trixie
ARCH ?= amd64
STEPS ?=
# make check: options of R CMD check
CHECK_OPTIONS ?=
C_SOURCES = src/*.[ch] src/core/*/*.[ch] tests/c/*.[ch]

# $(call install_into,LIBRARY): a clean source package, built and installed, so
# that no object file is left among the sources; two processes compile
install_into = mkdir -p check/source \
  && (cd check/source && R CMD build --no-build-vignettes --no-manual ../.. \
    >build.log 2>&1 || { cat build.log >&2; exit 1; }) \
  && (MAKE="make -j2" R CMD INSTALL --library="$(1)" \
    check/source/gibbsite_$(VERSION).tar.gz >check/source/install.log 2>&1 \
    || { cat check/source/install.log >&2; exit 1; })

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' \
	  $(MAKEFILE_LIST)

# ---- use ---------------------------------------------------------------------

.PHONY: install
install: ## install what is missing, then the package
	@tools/install.sh run
	@$(call install_into,$$(Rscript tools/packages.R library))
	@echo "Installed gibbsite $(VERSION) into" \
	  "$$(Rscript tools/packages.R library)."

.PHONY: demo
demo: install ## fit, check and draw a Gaussian mixture of faithful
	@Rscript tools/demo.R demo-output

# ---- test --------------------------------------------------------------------

# what a library is installed from: the sources, R, and a person's own settings
# of compilers
installed_from = { R --version; \
  find DESCRIPTION NAMESPACE NEWS.md R inst man src vignettes -type f \
    ! -name '*.o' ! -name '*.so' | LC_ALL=C sort | xargs cksum; \
  cat "$${R_MAKEVARS_USER:-$$HOME/.R/Makevars}" 2>/dev/null; } | cksum

# installed again only if something of that has changed
.PHONY: library
library:
	@mkdir -p "$(LIBRARY)"
	@from=$$($(installed_from)); stamp="$(LIBRARY)/gibbsite/installed-from"; \
	test "$$from" = "$$(cat "$$stamp" 2>/dev/null)" || \
	  { $(call install_into,$(LIBRARY)) && echo "$$from" >"$$stamp"; }

.PHONY: test
test: ## run the tests of the installed package (FILTER=regexp for some files)
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) NOT_CRAN=true Rscript tools/test.R $(if $(FILTER),"$(FILTER)")

.PHONY: test-extended
test-extended: ## the same with the long tests
	@GIBBSITE_EXTENDED_TESTS=true $(MAKE) --no-print-directory test

.PHONY: trust
trust: ## test every sampler by simulation, and wrong samplers beside
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) Rscript tools/trust.R

.PHONY: faults
faults: ## kill, interrupt and damage runs of every sampler; nothing is lost
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) Rscript tools/faults.R

# memory is bounded: what a mistake would copy must not take the machine's
.PHONY: badinput
badinput: ## call everything with hostile arguments (FILTER=regexp for some)
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@ulimit -v 9000000 2>/dev/null; \
	  $(WITH_LIBRARY) Rscript tools/badinput.R "$(FILTER)"

.PHONY: mutants
mutants: ## the wrong samplers of the tests, and which fast test finds each
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) Rscript tools/mutants.R

.PHONY: reports
reports: ## run the situations that users reported (FILTER=regexp for some)
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) Rscript tools/reports.R "$(FILTER)"

.PHONY: test-c
test-c: ## test the C core without R under sanitizers
	@tools/install.sh test-c
	@$(MAKE) --no-print-directory -C tests/c test

.PHONY: valgrind
valgrind: ## run the tests of a model under valgrind (FILTER=gmm)
	@tools/install.sh test develop
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) tools/valgrind.sh $(or $(FILTER),gmm)

.PHONY: check
check: ## R CMD check --as-cran: 0 errors, 0 warnings, 0 notes
	@tools/install.sh check
	@tools/check.sh $(CHECK_OPTIONS)

.PHONY: check-debian
check-debian: ## the tests and the check in a chroot (SUITE=, ARCH=, STEPS=)
	@tools/install.sh debian \
	  $(if $(filter-out amd64 i386,$(ARCH)),emulate)
	@tools/debian.sh $(SUITE) $(ARCH) $(STEPS)

.PHONY: mingw
mingw: ## compile for Windows, all warnings errors; neither link nor run
	@tools/install.sh run mingw
	@tools/mingw.sh

# ---- write -------------------------------------------------------------------

.PHONY: document
document: ## make NAMESPACE and man/ from the roxygen comments
	@tools/install.sh develop
	@tools/document.sh

.PHONY: articles
articles: ## build the articles that are not installed with the package
	@tools/install.sh check
	@$(MAKE) --no-print-directory library
	@mkdir -p check/articles
	@for page in vignettes/articles/*.Rmd; do \
	  $(WITH_LIBRARY) Rscript -e 'page <- commandArgs(TRUE)' \
	    -e 'rmarkdown::render(page, output_dir = "check/articles", quiet = TRUE)' \
	    "$$page" || exit 1; \
	done

.PHONY: site
site: ## build the web site with pkgdown, into check/site
	@tools/install.sh develop
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) Rscript tools/site.R

.PHONY: lint
lint: ## lintr by .lintr; fails on any lint
	@tools/install.sh develop
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) Rscript tools/lint.R

.PHONY: fmt
fmt: ## format the C sources in place
	@tools/install.sh develop
	@clang-format -i $(wildcard $(C_SOURCES))

.PHONY: fmt-check
fmt-check: ## fail where `make fmt` would change something
	@tools/install.sh develop
	@clang-format --dry-run --Werror $(wildcard $(C_SOURCES))

.PHONY: layering
layering: ## who may include or call whom, in C and in R
	@tools/layering-test.sh
	@tools/layering.sh src
	@tools/layering-r-test.sh
	@Rscript tools/layering.R R

.PHONY: bits
bits: ## do all compilers at hand draw the same bits?
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@$(WITH_LIBRARY) tools/bits.sh

.PHONY: identical
identical: ## does the package draw what OLD=library of another build draws?
	@tools/install.sh test
	@$(MAKE) --no-print-directory library
	@test -n "$(OLD)" || { echo "make identical OLD=<library>" >&2; exit 2; }
	@Rscript tools/identical.R "$(OLD)" "$(LIBRARY)" $(FILTER)

.PHONY: warnings
warnings: ## compile with gcc and clang, all warnings errors
	@tools/install.sh develop
	@tools/warnings.sh

# ---- compare -----------------------------------------------------------------

.PHONY: bench-deps
bench-deps: ## install the packages that bench/ compares with
	@tools/install.sh bench

.PHONY: bench
bench: ## run every script of bench/
	@tools/install.sh run
	@$(MAKE) --no-print-directory library
	@for script in $(filter-out bench/deps.R bench/data.R bench/densities.R \
	  bench/gmm-peers.R,$(wildcard bench/*.R)); do \
	  echo "== $$script"; $(WITH_LIBRARY) Rscript $$script || exit 1; \
	done

.PHONY: clean
clean: ## remove what these targets made
	rm -rf check demo-output
	rm -f src/*.o src/core/*/*.o src/*.so
