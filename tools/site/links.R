# Fails on what a reader of the site would miss without the network: a link to a
# page, a heading or a file of the site that is not there, and a script, a style
# or a picture that is loaded from elsewhere.
#
#   Rscript tools/site/links.R [FOLDER]        default check/site

# What the elements of a page refer to, with whether a page must load it.
references <- function(html) {
  of <- function(path) xml2::xml_text(xml2::xml_find_all(html, path))
  followed <- of("//a/@href | //area/@href")
  loaded <- of(paste(
    "//img/@src", "//script/@src", "//source/@src", "//iframe/@src",
    "//object/@data", "//link[@rel='stylesheet' or @rel='icon']/@href",
    sep = " | "
  ))
  data.frame(
    to = c(followed, loaded),
    loaded = rep(c(FALSE, TRUE), c(length(followed), length(loaded)))
  )
}

elsewhere <- function(to) grepl("^([a-z+]+:|//)", to)

anchors <- function(html) {
  xml2::xml_text(xml2::xml_find_all(html, "//@id | //a/@name"))
}

# The addresses of styles that are loaded from elsewhere.
remote_styles <- function(file) {
  text <- paste(readLines(file, warn = FALSE), collapse = "\n")
  found <- regmatches(text, gregexpr(
    "(@import\\s+|url\\()['\"]?(https?:)?//[^'\")]+", text, perl = TRUE
  ))[[1L]]
  sprintf("%s loads %s", basename(file), found)
}

# The faults of one page; `known` are the anchors of all pages by their paths.
page_faults <- function(page, html, known, folder) {
  all <- unique(references(html))
  away <- elsewhere(all$to) & !grepl("^data:", all$to)
  faults <- sprintf("loads %s", all$to[away & all$loaded])
  for (to in all$to[!elsewhere(all$to)]) {
    path <- utils::URLdecode(sub("[?#].*", "", to))
    anchor <- if (grepl("#", to)) utils::URLdecode(sub("^[^#]*#", "", to))
    target <- if (path == "") page else file.path(dirname(page), path)
    target <- normalizePath(file.path(folder, target), mustWork = FALSE)
    if (dir.exists(target)) target <- file.path(target, "index.html")
    there <- file.exists(target) &&
      (is.null(anchor) || anchor == "" || anchor %in% known[[target]])
    if (!there) faults <- c(faults, sprintf("dead link %s", to))
  }
  if (length(faults) > 0L) paste0(page, ": ", faults)
}

link_faults <- function(folder) {
  pages <- list.files(folder, "[.]html$", recursive = TRUE)
  html <- lapply(file.path(folder, pages), xml2::read_html)
  known <- lapply(html, anchors)
  names(known) <- normalizePath(file.path(folder, pages))
  styles <- list.files(folder, "[.]css$", recursive = TRUE, full.names = TRUE)
  c(
    unlist(Map(page_faults, pages, html, list(known), folder)),
    unlist(lapply(styles, remote_styles))
  )
}

check_links <- function(folder) {
  faults <- link_faults(folder)
  if (length(faults) > 0L) {
    writeLines(unname(faults))
    stop(length(faults), " faults in the links of ", folder, ".", call. = FALSE)
  }
  cat("No dead link in ", folder, ", and nothing from elsewhere.\n", sep = "")
}

if (sys.nframe() == 0L) {
  check_links(c(commandArgs(trailingOnly = TRUE), "check/site")[[1L]])
}
