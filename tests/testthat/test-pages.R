# Help pages: what a reader of any of them relies on.

pages <- local({
  found <- NULL
  function() {
    if (is.null(found)) found <<- tools::Rd_db("gibbsite")
    skip_if(length(found) == 0L, "the package is installed without help")
    found
  }
})

sections <- function(page) vapply(page, attr, "", "Rd_tag")

text_of <- function(page, tag) {
  words <- paste(unlist(page[sections(page) == tag]), collapse = "")
  trimws(gsub("[[:space:]]+", " ", words))
}

test_that("every page says what to see next", {
  skip_on_cran()
  has <- vapply(pages(), function(page) "\\seealso" %in% sections(page), NA)
  expect_identical(names(has)[!has], character())
})

# R CMD check has it too.
test_that("the arguments of all usages are documented", {
  skip_unless_extended()
  pages()
  expect_identical(
    format(tools::checkDocFiles("gibbsite", dirname(find.package("gibbsite")))),
    character()
  )
})

test_that("descriptions are whole sentences, and not the title again", {
  skip_on_cran()
  bad <- Filter(function(page) {
    description <- text_of(page, "\\description")
    title <- text_of(page, "\\title")
    grepl(":$", description) || identical(description, title)
  }, pages())
  expect_identical(names(bad), character())
})

test_that("no argument points above at what stands below", {
  skip_on_cran()
  bad <- Filter(function(page) {
    grepl("of the above", text_of(page, "\\arguments"), ignore.case = TRUE)
  }, pages())
  expect_identical(names(bad), character())
})

test_that("no item of a list is empty", {
  skip_on_cran()
  some <- pages()[seq(1, length(pages()), by = fast_or(8, 1))]
  lists <- Filter(function(page) {
    grepl("\\\\(itemize|enumerate)", paste(as.character(page), collapse = ""))
  }, some)
  expect_gt(length(lists), 0)
  for (page in lists) {
    html <- capture.output(tools::Rd2HTML(page))
    expect_no_match(
      gsub("[[:space:]]", "", paste(html, collapse = "")), "<li></li>",
      label = text_of(page, "\\name")
    )
  }
})

test_that("?running names what a sampler lacks", {
  arguments <- c(
    "draws", "burnin", "thin", "chains", "inits", "keep", "threads", "cores",
    "seed", "checkpoint", "stop_when", "progress", "keep_data"
  )
  lacking <- function(name) {
    f <- getS3method(name, "default", optional = TRUE) %||%
      getExportedValue("gibbsite", name)
    setdiff(arguments, names(formals(f)))
  }
  none <- character()
  expect_identical(lacking("gibbs_gmm"), none)
  expect_identical(lacking("gibbs_hlm"), none)
  expect_identical(lacking("gibbs_bmf"), none)
  expect_identical(lacking("gibbs_lda"), none)
  expect_identical(lacking("mh_sample"), none)
  expect_identical(lacking("gibbs_lm"), "threads")
  expect_identical(lacking("gibbs_logistic"), c("keep", "threads"))
  draws_alone <- c("burnin", "thin", "inits", "keep", "threads")
  expect_identical(lacking("laplace_logistic"), draws_alone)
  expect_identical(lacking("laplace"), draws_alone)
  expect_identical(lacking("gibbs_sample"), "keep_data")
})
