# A fit, a checkpoint and a function are known again after an update of R, of
# rlang or of another package.

space <- asNamespace("gibbsite")
hash <- get("hash", space)

quick <- function(...) {
  suppressWarnings(gibbs_gmm(
    faithful, 2, draws = 20, burnin = 10, chains = 2, seed = 1,
    progress = FALSE, ...
  ))
}

more <- function(...) suppressWarnings(extend(..., progress = FALSE))

# As if another version of a package were installed: `name` of its namespace
# gives another value.
as_updated <- function(package, name, value, code) {
  where <- asNamespace(package)
  own <- get(name, where)
  put <- function(f) {
    unlockBinding(name, where)
    assign(name, f, where)
    lockBinding(name, where)
  }
  put(value)
  on.exit(put(own))
  force(code)
}

other_rlang <- function(code) {
  own <- rlang::hash
  as_updated("rlang", "hash", function(x) own(list(x, "other")), code)
}

here <- file.path(tempdir(), "identity")
dir.create(here)
run <- file.path(here, "run")
saved <- file.path(here, "fit.rds")
fit <- quick(checkpoint = run)
saveRDS(fit, saved)
bare <- quick(keep_data = FALSE)

right("a checkpoint is resumed after an update of rlang", {
  other_rlang(identical_fit(
    suppressWarnings(resume(run, progress = FALSE)), fit
  ))
})

right("a saved fit is extended after an update of rlang", {
  other_rlang(identical_fit(more(readRDS(saved), 5), more(fit, 5)))
})

right("a saved fit and a new one are the same after an update of rlang", {
  other_rlang(identical_fit(readRDS(saved), quick()))
})

right("data that are supplied again are known after an update of rlang", {
  other_rlang(identical_fit(
    more(bare, 5, data = faithful), more(bare, 5, data = faithful)
  ))
})

right("a log density is known, and goes on, with the values that it read", {
  assign("data_of_report", 1:3, globalenv())
  f <- function(m) sum(dnorm(data_of_report, m, log = TRUE))
  environment(f) <- globalenv()
  fit <- suppressWarnings(mh_sample(
    f, 0, draws = 20, burnin = 10, chains = 1, seed = 1, progress = FALSE
  ))
  before <- more(fit, 5, log_density = f)
  assign("data_of_report", 4:6, globalenv())
  on.exit(rm("data_of_report", envir = globalenv()))
  refused <- tryCatch(more(fit, 5, log_density = f), error = conditionMessage)
  identical_fit(before, more(fit, 5)) && grepl("data_of_report", refused)
})

right("the hash of an object is the published algorithm's of its bytes", {
  # "d", length 1, 1.0, no attributes
  bytes <- as.raw(c(
    0x64, 1, rep(0, 7), rep(0, 6), 0xf0, 0x3f, rep(0, 8)
  ))
  digest <- get("checksum", space)(bytes)
  identical(hash(1), paste0("siphash:", paste(format(digest), collapse = "")))
})

right("a function is the same with and without source and byte code", {
  code <- "function(x) {\n  x + 1 # one\n}"
  f <- eval(parse(text = code, keep.source = TRUE))
  g <- compiler::cmpfun(eval(parse(text = code, keep.source = FALSE)))
  identical(hash(f), hash(g))
})

right("text is the same in every encoding", {
  latin <- "\xe9"
  Encoding(latin) <- "latin1"
  identical(hash(latin), hash(enc2utf8(latin)))
})

# ---- What earlier versions wrote ---------------------------------------------

stored <- "tests/testthat/stored/format-2"
old <- readRDS(file.path(stored, "fits.rds"))
copy <- file.path(here, "old")
dir.create(copy)
file.copy(file.path(stored, "run"), copy, recursive = TRUE)

refused("an old checkpoint under another rlang is not called damaged",
  other_rlang(resume(file.path(copy, "run"))),
  says = "made by another version of rlang, or the file is damaged"
)

refused("an old fit under another rlang is not called changed",
  other_rlang(extend(old$walk, 5)),
  says = "made by another version of rlang[.].*extend the fit"
)

refused("nor is one whose data are not held",
  other_rlang(extend(old$mixture, 5, data = faithful[1:30, ])),
  says = "another version of rlang, or draws were changed"
)

right("an old fit is identical to itself, renewed, under any rlang", {
  renewed <- get("renew_fit", space)(old$walk)
  other_rlang(identical_fit(old$walk, renewed))
})
