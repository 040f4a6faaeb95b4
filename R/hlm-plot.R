# Pictures of the groups of a regression.

hlm_groups_shown <- function(fit, term, level) {
  wide <- group_coefficients(fit, term, level)
  narrow <- group_coefficients(fit, term, 0.5)
  order <- order(wide$mean, decreasing = TRUE)
  ends <- c("lower", "upper")
  intervals_shown(
    stats::setNames(wide$mean, rownames(wide))[order],
    as.matrix(wide[order, ends]), as.matrix(narrow[order, ends]), level,
    group_coefficient_words(fit, term), line = mean_coefficient(fit, term),
    words = line_words(fit, term), named = nrow(wide) <= 60L
  )
}

# What the line of mean_coefficient() is.
line_words <- function(fit, term) {
  if (term %in% names(fixed_effects(fit))) "fixed effect" else "zero"
}

# A data frame with the columns mean, sd, lower and upper and a row for each
# group: the coefficient of one term before the bar.
group_coefficients <- function(fit, term, level) {
  model <- fit_part(fit, "model")
  groups <- length(model$levels)
  only <- function(columns) {
    matrix(as.double(columns == term), groups, length(columns), byrow = TRUE)
  }
  rows <- list(
    x = only(model$coefficients), z = only(model$layout$bar),
    group = seq_len(groups), names = model$levels
  )
  out <- prediction_table(fit, rows, "link", "mean", level)
  data.frame(out, row.names = model$levels)
}

# The posterior mean of the element of mu_w that belongs to a term.
mean_coefficient <- function(fit, term) {
  fixed <- fixed_effects(fit)
  if (term %in% names(fixed)) fixed[[term]] else 0
}

group_coefficient_words <- function(fit, term) {
  what <- if (term == "(Intercept)") "intercept" else paste("slope of", term)
  paste(what, "by", fit_part(fit, "model")$group_name)
}

# Least squares estimates from each group's rows, groups x terms; NA where the
# rows do not determine them.
own_coefficients <- function(fit, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  fixed <- fixed_effects(fit)
  others <- !model$coefficients %in% model$layout$bar
  y <- frame$y - (frame$offset %||% 0) -
    drop(frame$x[, others, drop = FALSE] %*% fixed[others])
  root <- sqrt(frame$weights %||% rep(1, length(y)))
  rows <- split(
    which(rows_used(frame)), factor(
      frame$group[rows_used(frame)], levels = seq_along(frame$levels)
    )
  )
  out <- vapply(rows, function(i) {
    factors <- qr(root[i] * frame$z[i, , drop = FALSE])
    if (factors$rank < ncol(frame$z)) {
      return(rep(NA_real_, ncol(frame$z)))
    }
    qr.coef(factors, root[i] * y[i])
  }, numeric(ncol(frame$z)))
  matrix(
    out, ncol = ncol(frame$z), byrow = TRUE,
    dimnames = list(frame$levels, model$layout$bar)
  )
}

plot_hlm_shrinkage <- function(fit, term, call, ...) {
  own <- own_coefficients(fit, call)[, term]
  found <- !is.na(own)
  if (!any(found)) {
    abort_argument(
      c("{.arg type} cannot be {.val shrinkage}: the rows of no group determine
         its coefficients.",
        i = "{.code type = \"groups\"} does not need them."),
      call = call
    )
  }
  own <- own[found]
  mean <- stats::coef(fit)[[1L]][[term]][found]
  many <- length(own) > 60L
  colour <- grDevices::adjustcolor(gibbsite_palette(1), if (many) 0.4 else 1)
  key <- rbind(
    plot_key("group", colour, lty = 1, lwd = 1),
    plot_key(line_words(fit, term), "grey70", lty = 1)
  )
  old <- open_keyed(key, c(2.2, 4.1, 1.6, 1.1))
  on.exit(graphics::par(old))
  defaults <- list(
    x = 1:2, y = range(own, mean), type = "n", xlim = c(0.8, 2.2), xaxt = "n",
    xlab = "", ylab = group_coefficient_words(fit, term), las = 1, bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::axis(1, 1:2, c("least squares", "posterior mean"), tick = FALSE)
  graphics::abline(h = mean_coefficient(fit, term), col = "grey70", lwd = 2)
  graphics::segments(1, own, 2, mean, col = colour)
  graphics::points(
    rep(1:2, each = length(own)), c(own, mean), pch = 21, bg = "white",
    col = colour, cex = if (many) 0.6 else 1
  )
  draw_key(key)
  if (!all(found)) {
    graphics::mtext(
      paste(sum(!found), "of", length(found), "groups left out"), adj = 1,
      line = 0.3, cex = 0.8, col = "grey35"
    )
  }
}
