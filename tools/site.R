# The web site, into check/site: Rscript tools/site.R, or `make site`.
#
# It needs no network, neither to be built nor to be read: pages have their own
# templates, style and search (tools/site), formulas are MathML, and the build
# ends with a check of all links (tools/site/links.R).

source(file.path("tools", "site", "links.R"))

# Links to packages that are not installed are looked up in CRAN's table of
# packages; here this table is empty, and they are left out.
empty <- tempfile("cran")
dir.create(file.path(empty, "web", "packages"), recursive = TRUE)
saveRDS(
  data.frame(Package = character(), URL = character()),
  file.path(empty, "web", "packages", "packages.rds")
)
Sys.setenv(R_CRAN_WEB = paste0("file://", empty))
options(pkgdown.internet = FALSE)

folder <- file.path("check", "site")
unlink(folder, recursive = TRUE)
pkgdown::build_site(
  override = list(template = list(
    bootstrap = 5, path = normalizePath(file.path("tools", "site", "templates"))
  )),
  install = FALSE, new_process = FALSE, preview = FALSE
)

read <- function(path) {
  paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")
}
write <- function(text, path) writeLines(text, path, useBytes = TRUE)
pages <- list.files(folder, "[.]html$", recursive = TRUE)
texts <- vapply(file.path(folder, pages), read, "")

# ---- README names the sources of articles, and has bars in its tables

texts <- gsub(
  'href="vignettes/(articles/)?([a-z-]+)[.]Rmd"', 'href="articles/\\2.html"',
  texts
)
bars <- "(<code>[^<]*)\\\\[|]"
while (any(grepl(bars, texts))) texts <- gsub(bars, "\\1|", texts)

# ---- formulas: TeX between \( and \), or $$ and $$, not inside of code

code_or_formula <- paste0(
  "(?s)<(pre|code|script)\\b.*?</\\1>",
  "|\\\\\\(.+?\\\\\\)|\\\\\\[.+?\\\\\\]|\\$\\$.+?\\$\\$"
)
found_in <- function(text) gregexpr(code_or_formula, text, perl = TRUE)
is_formula <- function(found) !startsWith(found, "<")

tex_of <- function(formula) {
  tex <- substr(formula, 3L, nchar(formula) - 2L)
  tex <- gsub("&lt;", "<", gsub("&gt;", ">", gsub("&amp;", "&", tex)))
  # upright words are text; pandoc knows one kind of large brackets
  tex <- gsub("\\\\mathrm *([A-Za-z])", "\\\\text{\\1}", tex)
  tex <- gsub("\\\\mathrm\\b", "\\\\text", tex)
  tex <- gsub("\\\\[Bb]igg?l\\b", "\\\\left", tex)
  tex <- gsub("\\\\[Bb]igg?r\\b", "\\\\right", tex)
  trimws(gsub("[[:space:]]+", " ", tex))
}

# pandoc writes MathML; one run for all formulas
as_mathml <- function(formulas) {
  display <- !startsWith(formulas, "\\(")
  mark <- ifelse(display, "$$", "$")
  source <- tempfile(fileext = ".md")
  target <- tempfile(fileext = ".html")
  write(paste0(mark, tex_of(formulas), mark, "\n"), source)
  rmarkdown::pandoc_convert(
    source, "html", output = target, options = c("--mathml", "--wrap=none")
  )
  made <- regmatches(read(target), gregexpr(
    "(?s)<p>.*?</p>", read(target), perl = TRUE
  ))[[1L]]
  stopifnot(length(made) == length(formulas))
  bad <- !grepl("<math", made)
  if (any(bad)) stop("No MathML for: ", toString(formulas[bad]), call. = FALSE)
  # the TeX itself is for machines that read the page
  made <- gsub("(?s)<annotation.*?</annotation>", "", made, perl = TRUE)
  sub("(?s)^<p>(.*)</p>$", "\\1", made, perl = TRUE)
}

places <- found_in(texts)
found <- regmatches(texts, places)
formulas <- unique(Filter(is_formula, unlist(found)))
mathml <- as_mathml(formulas)
regmatches(texts, places) <- lapply(found, function(found) {
  at <- match(found, formulas)
  ifelse(is.na(at), found, mathml[at])
})

for (i in seq_along(pages)) write(texts[[i]], file.path(folder, pages[[i]]))

# ---- search: title, address and words of each page

entry <- function(page) {
  html <- xml2::read_html(file.path(folder, page))
  of <- function(path) xml2::xml_text(xml2::xml_find_all(html, path))
  title <- c(of("//main//h1"), page)[[1L]]
  # aliases stand in the usage, terms in headings and in the first paragraph
  text <- of(paste(
    "//main//h1 | //main//h2 | //main//h3 | //main//p | //main//dt",
    "//main//*[@id='ref-usage']", "//main//td", sep = " | "
  ))
  words <- tolower(paste(title, paste(text, collapse = " ")))
  words <- unique(unlist(regmatches(words, gregexpr("[a-z0-9_.]{2,}", words))))
  list(trimws(title), page, paste0(" ", paste(words, collapse = " ")))
}

searched <- grep("^(reference|articles|news)/|^index", pages, value = TRUE)
searched <- searched[!grepl("/index[.]html$", searched)]
quoted <- function(x) paste0('"', gsub('(["\\\\])', "\\\\\\1", x), '"')
entries <- vapply(lapply(searched, entry), function(page) {
  paste0("[", paste(quoted(unlist(page)), collapse = ","), "]")
}, "")
write(
  c("window.sitePages = [", paste(entries, collapse = ",\n"), "];"),
  file.path(folder, "search.js")
)

invisible(file.copy(
  file.path("tools", "site", c("site.js", "site.css")), folder, overwrite = TRUE
))
# pkgdown's own search and scripts are not used
unlink(file.path(folder, c("search.json", "pkgdown.js")))

check_links(folder)
