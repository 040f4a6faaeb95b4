# The data of gibbs_hlm(): its formula, frame, and the rows that C reads.

# ---- the formula -------------------------------------------------------------

# list(fixed, bars) of a right-hand side: the part without bars (NULL if there
# is none) and the calls `terms | group`.
split_bars <- function(part, call) {
  if (is_bar(part)) {
    return(list(fixed = NULL, bars = list(part[[2L]])))
  }
  if (is_binary(part, quote(`+`))) {
    left <- split_bars(part[[2L]], call)
    right <- split_bars(part[[3L]], call)
    fixed <- if (is.null(left$fixed)) {
      right$fixed
    } else if (is.null(right$fixed)) {
      left$fixed
    } else {
      as.call(list(quote(`+`), left$fixed, right$fixed))
    }
    return(list(fixed = fixed, bars = c(left$bars, right$bars)))
  }
  if (is_binary(part, quote(`-`))) {
    left <- split_bars(part[[2L]], call)
    right <- split_bars(part[[3L]], call)
    if (length(right$bars) == 0L) {
      fixed <- as.call(list(quote(`-`), left$fixed %||% 1, part[[3L]]))
      return(list(fixed = fixed, bars = left$bars))
    }
  }
  barred <- any(vapply(formula_terms(part), is_random_effect, NA))
  if (barred && is.call(part) && identical(part[[1L]], quote(`(`))) {
    return(split_bars(part[[2L]], call))
  }
  if (barred) {
    abort_bar(
      "`formula` must have its bar in parentheses and added to the rest:
       {.code y ~ x + (1 + x | group)}.",
      call
    )
  }
  list(fixed = part, bars = list())
}

is_binary <- function(part, operator) {
  is.call(part) && identical(part[[1L]], operator) && length(part) == 3L
}

is_bar <- function(part) {
  is.call(part) && identical(part[[1L]], quote(`(`)) &&
    is_random_effect(part[[2L]])
}

abort_bar <- function(message, call, hint = NULL, env = parent.frame()) {
  abort_argument(
    c(message, i = hint), call = call, class = "formula", envir = env
  )
}

# A formula with groups, such as y ~ x + (1 | g).
has_bar <- function(formula) {
  inherits(formula, "formula") && length(formula) == 3L &&
    any(vapply(formula_terms(formula[[3L]]), is_random_effect, NA))
}

# list(fixed, bars, flat, with_group) of the formula: the first and the last two
# are formulas, of the fixed effects and of all variables, without and with
# those of the groups; bars: of parse_bar().
parse_hlm_formula <- function(formula, data, call) {
  check_has_response(formula, "y ~ x + (1 | group)", call)
  found <- split_bars(formula[[3L]], call)
  if (length(found$bars) == 0L) {
    abort_bar(
      "`formula` must have groups: {.code y ~ x + (1 + x | group)}.", call,
      "Without groups use {.fn gibbs_lm}."
    )
  }
  env <- environment(formula)
  groups <- Reduce(call_sum, lapply(found$bars, `[[`, 3L))
  expanded <- function(part) expand_dot(part, formula, groups, data, call)
  fixed <- formula
  fixed[[3L]] <- expanded(found$fixed %||% 1)
  bars <- unlist(lapply(found$bars, function(bar) {
    bar[[2L]] <- expanded(bar[[2L]])
    parse_bar(bar, env, call)
  }), recursive = FALSE)
  flat <- with_group <- formula
  flat[[3L]] <- Reduce(call_sum, lapply(bars, function(bar) {
    as.call(list(quote(`(`), bar$bar[[2L]]))
  }), fixed[[3L]])
  with_group[[3L]] <- Reduce(call_sum, lapply(bars, `[[`, "group"), flat[[3L]])
  list(fixed = fixed, bars = bars, flat = flat, with_group = with_group)
}

# A list of list(bar, group, diagonal), one for each grouping factor of a bar:
# (terms | a / b) has the groups a and a:b. bar: a formula of its terms.
parse_bar <- function(bar, env, call) {
  group <- bar[[3L]]
  while (is.call(group) && identical(group[[1L]], quote(`(`))) {
    group <- group[[2L]]
  }
  if (is_binary(group, quote(`/`))) {
    outer <- inner <- bar
    outer[[3L]] <- group[[2L]]
    parts <- parse_bar(outer, env, call)
    inner[[3L]] <- call(":", parts[[length(parts)]]$group, group[[3L]])
    return(c(parts, parse_bar(inner, env, call)))
  }
  if (is_random_effect(bar[[2L]])) {
    abort_bar(
      "A bar of `formula` must have terms before it, not
       {.code {deparse1(bar[[2L]])}}.",
      call,
      "The terms of one bar are correlated, those of several are not."
    )
  }
  if ("." %in% all.vars(group)) {
    abort_bar(
      "`formula` must name its groups, not {.code {deparse1(group)}}.", call
    )
  }
  outer_call <- if (is.call(group)) as.character(group[[1L]])[[1L]] else ""
  if (outer_call %in% c("gr", "mm") && !exists(outer_call, env)) {
    abort_bar(
      "`formula` cannot have {.fn {outer_call}}, which is of brms.", call,
      if (outer_call == "gr") "Its first argument alone is the group."
    )
  }
  if (outer_call %in% c("/", "+", "*", "^", "||", "|", "%in%")) {
    abort_bar(
      "A bar of `formula` must have one grouping factor, not
       {.code {deparse1(group)}}.",
      call,
      "Several are bars of their own, {.code (1 | a) + (1 | b)}; nested ones
       are {.code (1 | a/b)}, groups by two variables {.code (1 | a:b)}."
    )
  }
  list(list(
    bar = stats::as.formula(call("~", bar[[2L]]), env), group = group,
    diagonal = identical(bar[[1L]], quote(`||`))
  ))
}

call_sum <- function(a, b) as.call(list(quote(`+`), a, b))

# A right-hand side without `.`, which stands for all columns but those of the
# response and the groups.
expand_dot <- function(part, formula, group, data, call) {
  if (!"." %in% all.vars(part)) {
    return(part)
  }
  check_dot(part, data, call)
  if (!is.data.frame(data)) {
    abort_dot(call)
  }
  columns <- intersect(all.vars(group), names(data))
  others <- Reduce(function(rest, name) call("-", rest, as.name(name)),
                   columns, quote(.))
  whole <- formula
  whole[[3L]] <- do.call(
    substitute, list(part, list(. = as.call(list(quote(`(`), others))))
  )
  made <- tryCatch(
    stats::terms(whole, data = data[0L, , drop = FALSE], simplify = TRUE),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_bar(c("`formula` cannot be read.", x = "{reason}"), call)
    }
  )
  stats::formula(made)[[3L]]
}

# The variables of a : b, as expressions.
group_variables <- function(group) {
  if (is.call(group) && identical(group[[1L]], quote(`:`))) {
    return(c(group_variables(group[[2L]]), group_variables(group[[3L]])))
  }
  list(group)
}

group_parts <- function(group) vapply(group_variables(group), deparse1, "")

# The values of these variables in the rows of a data frame.
group_values <- function(group, frame, env = NULL) {
  Map(function(variable, name) {
    if (name %in% names(frame)) frame[[name]] else eval(variable, frame, env)
  }, group_variables(group), group_parts(group), USE.NAMES = FALSE)
}

# The values as they are compared. Times that print alike may differ.
group_ids <- function(values) {
  lapply(values, function(v) {
    if (inherits(v, c("POSIXct", "difftime"))) as.double(v) else
      plain_or_level(v)
  })
}

check_group_vectors <- function(values, names, call) {
  for (i in seq_along(values)) {
    columns <- NCOL(values[[i]])
    if (columns > 1L) {
      abort_bar(
        "A grouping factor of `formula` must be one column: {.code {names[[i]]}}
         has {columns}.",
        call, "Groups by several variables are {.code (1 | a:b)}."
      )
    }
  }
}

# list(code, levels, ids): the group of each row, the names of the groups in
# their order, and their values of each variable.
groups_of_rows <- function(group, frame, call) {
  values <- group_values(group, frame)
  check_group_vectors(values, group_parts(group), call)
  ids <- group_ids(values)
  code <- row_codes(ids)
  first <- which(!duplicated(code))
  words <- lapply(values, function(v) id_words(v[first]))
  one <- values[[1L]]
  order <- if (length(values) == 1L && (is.factor(one) || is.numeric(one))) {
    order(one[first])
  } else {
    do.call(order, c(list(do.call(paste, c(words, sep = ":"))), words))
  }
  list(
    code = match(code, code[first[order]]),
    levels = joined_words(words)[order],
    ids = lapply(ids, function(v) v[first[order]])
  )
}

# ---- the frame ---------------------------------------------------------------

# made: of formula_frame() with all variables; parsed: of parse_hlm_formula().
# response: of as_measurements() or as_response().
hlm_frame <- function(made, parsed, formula, response, contrasts, se, call) {
  frame <- made$frame
  check_contrasts(contrasts, frame, call)
  fixed <- fixed_terms(parsed$fixed)
  x <- frame_design(fixed, frame, contrasts, call)
  bars <- lapply(parsed$bars, frame_bar, frame, x, fixed, contrasts, call)
  check_bars(bars, call)
  say_single_groups(bars)
  own <- attr(x, "contrasts")
  for (bar in bars) own <- c(own, bar$contrasts)
  weights <- check_weights(frame[["(weights)"]], nrow(frame), call)
  # without the grouping factor, for predictions
  terms <- terms_within(stats::terms(parsed$flat), attr(frame, "terms"))
  xlevels <- stats::.getXlevels(terms, frame)
  common <- list(
    x = plain_design(x), y = response$y,
    weights = if (is.null(se)) weights else 1 / se^2, known = !is.null(se),
    offset = check_offset(frame_offset(frame, call), nrow(frame), call),
    fixed_terms = fixed,
    response = list(name = deparse1(formula[[2L]]), kind = response$kind),
    formula = formula,
    terms = terms, xlevels = xlevels,
    contrasts = own[unique(names(own))],
    model = frame, na.action = made$na_action, row_names = row.names(frame),
    times = made$times, other_rows = made$other_rows
  )
  common$constants <- made$constants
  if (length(bars) > 1L) {
    return(c(common, list(bars = name_bars(bars))))
  }
  # in the order of fits that are saved
  out <- c(common, bar_parts(bars[[1L]]))
  first <- c("x", "z", "y", "weights", "known", "offset", "group", "levels",
             "group_ids", "group_name", "group_expr", "diagonal", "fixed_terms",
             "bar_terms")
  out[c(first, setdiff(names(out), first))]
}

# list(frame, response) of a formula with groups: hlm_frame() for responses of
# known scale. The arguments are those of formula_parts().
grouped_parts <- function(formula, data, user_call, maker, as_response,
                          action, contrasts, env, call) {
  parsed <- parse_hlm_formula(formula, data, call)
  check_model_formula(parsed$flat, maker, call)
  user_call$formula <- parsed$with_group
  made <- regression_frame(
    parsed$with_group, data, user_call, action, env, call
  )
  name <- deparse1(formula[[2L]])
  response <- as_response(stats::model.response(made$frame), name, call)
  response$name <- name
  frame <- hlm_frame(made, parsed, formula, response, contrasts, NULL, call)
  frame$known <- TRUE
  list(frame = frame, response = response)
}

# What a frame has of one bar, of parse_bar().
frame_bar <- function(parsed, frame, x, fixed, contrasts, call) {
  terms <- fixed_terms(parsed$bar)
  z <- frame_design(terms, frame, contrasts, call)
  colnames(z) <- names_beside(z, terms, x, fixed)
  groups <- groups_of_rows(parsed$group, frame, call)
  list(
    z = plain_design(z), group = groups$code, levels = groups$levels,
    group_ids = groups$ids, group_name = deparse1(parsed$group),
    group_expr = parsed$group, diagonal = parsed$diagonal, bar_terms = terms,
    contrasts = attr(z, "contrasts")
  )
}

# Two bars of one factor must have different columns.
check_bars <- function(bars, call) {
  names <- vapply(bars, `[[`, "", "group_name")
  for (name in unique(names[duplicated(names)])) {
    columns <- unlist(lapply(bars[names == name], function(b) colnames(b$z)))
    twice <- unique(columns[duplicated(columns)])
    if (length(twice) > 0L) {
      abort_bar(
        "`formula` has the term {.val {twice[[1]]}} in two bars of
         {.code {name}}.",
        call, "Each term of a grouping factor stands in one bar."
      )
    }
  }
}

say_single_groups <- function(bars) {
  single <- lengths(lapply(bars, `[[`, "levels")) == 1L
  names <- unique(vapply(bars[single], `[[`, "", "group_name"))
  if (length(names) > 0L) {
    inform_gibbsite(
      "There is one group of {.val {names}}: the standard deviation of its
       effects is drawn from the prior.",
      class = "single_group"
    )
  }
}

bar_parts <- function(bar) bar[names(bar) != "contrasts"]

# Bars with the names of their groups, "g" and "g.1" for two bars of one factor.
name_bars <- function(bars) {
  names <- make.unique(vapply(bars, `[[`, "", "group_name"))
  stats::setNames(lapply(bars, bar_parts), names)
}

# Terms of a right-hand side. Their variables are columns of a model frame, so
# that their environment is not used.
fixed_terms <- function(formula) {
  if (length(formula) == 3L) formula[[2L]] <- NULL
  terms <- stats::terms(formula)
  attr(terms, ".Environment") <- baseenv()
  terms
}

frame_design <- function(terms, frame, contrasts, call) {
  factors <- vapply(frame, function(v) !is.numeric(v), NA)
  own <- intersect(all_term_variables(terms), names(frame)[factors])
  contrasts <- contrasts[intersect(names(contrasts), own)]
  model_matrix(terms, frame, if (length(contrasts) > 0L) contrasts, call)
}

# Names for the columns of z. A column that equals one of x gets its name; the
# others are made unique: columns of different terms may have one name ("abc" of
# `a` and of `ab`), and those of one term other values ("f1" of sums to zero and
# of indicators).
names_beside <- function(z, bar, x, fixed) {
  names <- c(colnames(x), colnames(z))
  of <- c(column_terms(x, fixed), column_terms(z, bar))
  column <- row_codes(list(names, of))
  own <- ncol(x) + seq_len(ncol(z))
  at <- match(column[own], column[seq_len(ncol(x))])
  other <- which(colSums(z != x[, at, drop = FALSE]) > 0)
  column[own[other]] <- max(column) + seq_along(other)
  column <- match(column, unique(column))
  first <- !duplicated(column)
  make.unique(names[first])[column][own]
}

column_terms <- function(x, terms) {
  c("(Intercept)", attr(terms, "term.labels"))[attr(x, "assign") + 1L]
}

plain_design <- function(x) {
  storage.mode(x) <- "double"
  attr(x, "assign") <- NULL
  attr(x, "contrasts") <- NULL
  x
}

# Terms with what `all` knows of their variables.
terms_within <- function(terms, all) {
  at <- match(all_term_variables(terms), all_term_variables(all))
  if (!is.null(attr(all, "predvars"))) {
    attr(terms, "predvars") <- attr(all, "predvars")[c(1L, at + 1L)]
  }
  attr(terms, "dataClasses") <- attr(all, "dataClasses")[at]
  terms
}

# ---- the reduced rows --------------------------------------------------------

# What C reads of the rows, as core/hlm/hlm.h describes: z: n x q, x: n x p and
# y: n, all times the root of the weights; group: 1, ..., groups.
reduce_groups <- function(z, x, y, group, groups) {
  q <- ncol(z)
  p <- ncol(x)
  right <- cbind(x, y)
  rows <- split(seq_along(y), factor(group, levels = seq_len(groups)))
  kept <- pmin(lengths(rows), q)
  start <- c(0L, cumsum(unname(kept)))
  top_z <- matrix(0, start[[groups + 1L]], q)
  top <- matrix(0, start[[groups + 1L]], p + 1L)
  rest <- matrix(0, length(y) - start[[groups + 1L]], p + 1L)
  filled <- 0L
  for (j in which(kept > 0L)) {
    i <- rows[[j]]
    to <- start[[j]] + seq_len(kept[[j]])
    if (length(i) <= q) {
      top_z[to, ] <- z[i, ]
      top[to, ] <- right[i, ]
      next
    }
    factors <- qr(z[i, , drop = FALSE], LAPACK = TRUE)
    turned <- qr.qty(factors, right[i, , drop = FALSE])
    top_z[to, ] <- qr.R(factors)[, order(factors$pivot), drop = FALSE]
    top[to, ] <- turned[seq_len(q), ]
    left <- length(i) - q
    rest[filled + seq_len(left), ] <- turned[q + seq_len(left), ]
    filled <- filled + left
  }
  pool <- reduce_pool(rest[, seq_len(p), drop = FALSE], rest[, p + 1L])
  list(
    start = as.integer(start), bar = as.double(t(top_z)),
    fixed = as.double(t(top[, seq_len(p), drop = FALSE])),
    response = top[, p + 1L],
    pool_x = as.double(t(pool$x)), pool_y = pool$y, rss = pool$rss
  )
}

# At most p rows with the same inner products of x, and of x and y.
reduce_pool <- function(x, y) {
  p <- ncol(x)
  if (p == 0L || nrow(x) <= p) {
    return(list(
      x = x, y = if (p == 0L) numeric() else y,
      rss = if (p == 0L) sum(y^2) else 0
    ))
  }
  factors <- qr(x, LAPACK = TRUE)
  turned <- qr.qty(factors, y)
  list(
    x = qr.R(factors)[, order(factors$pivot), drop = FALSE],
    y = turned[seq_len(p)], rss = sum(turned[-seq_len(p)]^2)
  )
}
