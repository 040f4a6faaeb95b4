# Tables of numbers as print() and summary() show them.

# A row is rounded by its sd: `digits` significant figures of the sd, and the
# same number of decimals for mean and quantiles.
show_numbers <- function(columns, mean, sd, digits = 3) {
  spread <- ifelse(is.finite(sd) & sd > 0, sd, abs(mean) / 10)
  spread[!is.finite(spread) | spread == 0] <- 1
  decimals <- pmax(0, digits - 1 - floor(log10(spread)))
  extreme <- decimals > digits + 4 | abs(mean) >= 1e9 | (is.finite(sd) & sd == 0)
  as.data.frame(lapply(columns, function(column) {
    shown <- character(length(column))
    for (k in seq_along(column)) {
      shown[k] <- if (is.na(extreme[k]) || extreme[k]) {
        formatC(column[k], digits = digits + 1, format = "g")
      } else {
        formatC(column[k], digits = decimals[k], format = "f")
      }
    }
    trimws(shown)
  }), check.names = FALSE, optional = TRUE)
}

show_significant <- function(x, digits) {
  shown <- formatC(signif(x, digits), digits = digits, format = "fg")
  tiny <- !is.na(x) & x != 0 & abs(x) < 1e-6
  shown[tiny] <- formatC(x[tiny], digits = digits - 1, format = "e")
  shown[is.na(x)] <- "-"
  trimws(shown)
}

show_rhat <- function(x) {
  ifelse(is.na(x), "-", ifelse(x > 100, ">100", formatC(x, format = "f",
                                                        digits = 3)))
}

show_ess <- function(x) {
  # a whole number stays one in spite of rounding
  x <- floor(x * (1 + 1e-12))
  ifelse(is.na(x), "-", formatC(x, format = "f", digits = 0))
}

# A table without the attributes and the class of its own. `attributes<-` would
# make its automatic row names names.
bare_frame <- function(x) {
  for (part in setdiff(names(attributes(x)), c("names", "row.names"))) {
    attr(x, part) <- NULL
  }
  class(x) <- "data.frame"
  x
}

# Whether the rows of a table are those for which its headline and verdict hold,
# or some of them: other packages keep both when they filter or bind rows. The
# attribute `rows` has their names.
has_own_rows <- function(x) {
  rows <- attr(x, "rows")
  is.null(rows) || !anyDuplicated(x$variable) && all(x$variable %in% rows)
}

# Tables below each other, without the attributes of the first.
bind_bare <- function(...) {
  do.call(rbind, lapply(list(...), function(x) {
    if (is.data.frame(x)) bare_frame(x) else x
  }))
}

# Writes the lines of a print. One that is longer than the page is broken, and
# its further lines are indented.
write_lines <- function(lines) {
  page <- max(getOption("width"), 40L)
  lines <- unlist(lapply(lines, function(line) {
    if (nzchar(line)) strsplit(line, "\n", fixed = TRUE)[[1L]] else line
  }))
  long <- nchar(lines, "width") > page - 2L
  lines <- as.list(lines)
  lines[long] <- lapply(lines[long], strwrap, page - 1L, exdent = 2)
  writeLines(as.character(unlist(lines)))
}

# Prints an object as its format() method shows it.
print_lines <- function(x) {
  writeLines(format(x))
  invisible(x)
}

# Names to the left, numbers to the right: the first n rows.
print_table <- function(names, columns, n = Inf) {
  rows <- seq_len(min(n, length(names)))
  body <- as.matrix(columns)[rows, , drop = FALSE]
  dimnames(body) <- list(names[rows], colnames(columns))
  print(body, quote = FALSE, right = TRUE)
  if (length(names) > n) {
    write_lines(sprintf("... %d more rows; print(x, n = %d) shows all",
                        length(names) - n, length(names)))
  }
}

# How many rows print() shows; Inf is all.
check_rows_shown <- function(n, call = rlang::caller_env()) {
  if (identical(n, Inf)) n else check_count(n, arg = "n", call = call)
}

# Rounded, but never to a value below the threshold if R-hat is above it.
format_rhat <- function(x, threshold = 1.01) {
  shown <- formatC(x, format = "f", digits = 3)
  close <- x > threshold & as.numeric(shown) <= threshold
  shown[close] <- paste("above", format(threshold))
  shown[x > 100] <- "above 100"
  shown
}
