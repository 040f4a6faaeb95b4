# plot() and autoplot() methods. A class gives its picture by one function, say
# `picture`, and both methods take their arguments from it: those before `call`,
# the frame that errors name, and `arg`, the name of the first of them. R reads
# the files in the order of their names, and this one before those that use it.

plot_method <- function(picture) {
  drawing_method(substitute(picture), formals(picture), "x", quote({
    check_no_more(...)
    draw_base(the_picture)
    invisible(x)
  }))
}

# With graphical parameters, which a picture of chains alone does not take.
graphical_method <- function(picture) {
  drawing_method(substitute(picture), formals(picture), "x", quote({
    if (has_short_names()) return(with_whole_names())
    draw_base(the_picture, list(...))
    invisible(x)
  }))
}

autoplot_method <- function(picture) {
  drawing_method(substitute(picture), formals(picture), "object", quote({
    check_no_more(...)
    draw_ggplot(the_picture)
  }))
}

# A function of `arguments`, the first named `arg`. `the_picture` in its body
# stands for a call of the function `name`.
drawing_method <- function(name, arguments, arg, body) {
  own <- arguments[!names(arguments) %in% c("call", "arg")]
  names(own)[[1L]] <- arg
  picture <- as.call(c(
    name, lapply(names(own), as.name), call = quote(rlang::current_env()),
    if ("arg" %in% names(arguments)) list(arg = arg)
  ))
  body <- do.call(substitute, list(body, list(the_picture = picture)))
  as.function(c(own, body), topenv())
}
