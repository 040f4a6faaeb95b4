#!/bin/sh
# tools/layering.R must accept a good example and find each fault in a bad one.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# example NAME: three small files, each of which calls the one before
example() {
  mkdir -p "$scratch/$1"
  printf 'model_start <- function(model) UseMethod("model_start")\n' \
    >"$scratch/$1/model.R"
  printf 'run <- function(model) model_start(model)\n' >"$scratch/$1/run.R"
  printf 'fit <- function(model) lapply(model, run)\n' >"$scratch/$1/fit.R"
}

# refused NAME REASON: checks that the example fails for this reason
refused() {
  if found=$(Rscript tools/layering.R "$scratch/$1"); then
    echo "tools/layering.R accepts a bad example ($1)" >&2
    exit 1
  fi
  case $found in
  *"$2"*) ;;
  *)
    printf 'tools/layering.R refuses "%s" for another reason:\n%s\n' \
      "$1" "$found" >&2
    exit 1
    ;;
  esac
}

example good
Rscript tools/layering.R "$scratch/good"

example circle
printf 'model_start.a <- function(model) fit(model$parts)\n' \
  >>"$scratch/circle/model.R"
refused circle 'files that call each other: fit.R, model.R, run.R'
example value
printf 'again <- function(models) lapply(models, fit)\n' \
  >>"$scratch/value/run.R"
refused value 'run.R -> fit.R: fit'
example generic
printf 'model_labels <- function(model) UseMethod("model_labels")\n' \
  >>"$scratch/generic/fit.R"
refused generic 'fit.R: model_labels is a generic of models'
example twice
printf 'run <- function(model) model\n' >>"$scratch/twice/fit.R"
refused twice 'run is defined in two files'
example model
printf 'gmm_fit <- function(model) run(model)\n' >"$scratch/model/gmm-fit.R"
printf 'lda_fit <- function(model) run(model)\n' >"$scratch/model/lda-fit.R"
Rscript tools/layering.R "$scratch/model"
printf 'other <- function(model) lda_fit(model)\n' >>"$scratch/model/gmm-fit.R"
refused model "gmm-fit.R calls another model's lda-fit.R: lda_fit"
