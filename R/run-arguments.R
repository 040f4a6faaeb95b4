# The running arguments, which the samplers share: their checks, the stopping
# rule, and the page ?running that documents them.

#' Running arguments of every sampler
#'
#' The arguments below say how long chains run, where they run and which draws
#' are kept. They have the same names and meanings in every sampler of gibbsite.
#' Where a default differs, the sampler's page says so. All are checked before
#' the first chain starts.
#'
#' Some samplers lack arguments that have no meaning for them:
#' - `threads`: the regressions but [gibbs_hlm()], [laplace()] and
#'   [fit_markov_chain()].
#' - `keep`: the regressions but [gibbs_lm()] and [gibbs_hlm()], [laplace()] and
#'   [fit_markov_chain()], which store all of their parameters.
#' - `burnin`, `thin` and `inits`: [laplace_logistic()], [laplace()] and
#'   [fit_markov_chain()], whose chains need no starting values.
#' - `keep_data`: [gibbs_sample()], whose functions hold the data.
#'
#' @name running
#'
#' @param draws The draws kept in each chain. A whole number, 1 or more: that
#'   many. `NULL` (the default of most samplers): 1000, and then more by the
#'   rule [until()] if the chains have not converged, so that `draws = NULL` is
#'   `draws = 1000, stop_when = until()`. With a rule, the rule decides how many
#'   draws are made, and `draws` only sets its defaults; a chain then keeps some
#'   4,000 of them at most, evenly spaced (see [until()]). The default of
#'   [gibbs_lda()], [laplace()], [laplace_logistic()] and [fit_markov_chain()]
#'   is 1000, without a rule. With `lm_prior("nig")` `NULL` is 1000, too. (But
#'   for [gibbs_lda()], and with `correct = "importance"`, these draws are
#'   independent.)
#' @param burnin Whole number, 0 or more (default 1000): the sweeps that each
#'   chain runs first and does not keep. A rule may add to them.
#' @param thin Whole number, 1 or more (default 1): the sweeps for each kept
#'   draw. A chain runs `burnin + draws * thin` sweeps, at most 2^53.
#' @param chains Whole number, 1 or more (default 4): the independent chains.
#' @param inits Starting values. `NULL` (the default): drawn by the sampler,
#'   each chain on its own stream, as the sampler's page says. Or a list
#'   with one entry for each chain, each in the form that the sampler's page
#'   gives; or a function of one argument, the chain's number, that returns such
#'   an entry (it runs on the chain's stream, so that it may draw random
#'   numbers); or an earlier fit of the same kind with no fewer chains, whose
#'   last states become the starting values.
#' @param keep Character vector: names of the parameter blocks of which every
#'   draw is stored, each at most once. `NULL` (the default) means the blocks
#'   named on the sampler's page.
#' @param threads Whole number from 1 to 1024 (default 1): the threads inside
#'   one chain. Never changes a draw.
#' @param cores Whole number from 1 to 1024 (default
#'   `getOption("mc.cores", 1)`): the processes in which the chains run when the
#'   current [future::plan()] is sequential. Never changes a draw.
#' @param seed `NULL` (the default) or a whole number from -2147483647 to
#'   2147483647: the root of all random numbers of the run. `NULL` takes it from
#'   R's generator, so that [set.seed()] governs the run.
#' @param checkpoint `NULL` (the default) or a string: a directory to which the
#'   chains are written as they run, new or empty (or left by a run that was
#'   stopped before its first checkpoint), inside a directory that exists and
#'   can be written to. See the section on checkpoints.
#' @param stop_when A rule made by [until()], which ends the run at the first
#'   check at which the draws meet its thresholds. `NULL` (the default): no
#'   rule if `draws` is given, otherwise `until()`.
#' @param progress `TRUE` (the default) or `FALSE`: show how long a run takes.
#'   In a terminal a bar has the time left; the progressr package draws it, with
#'   the handlers that are set in the session, if any. Elsewhere a message says
#'   it after 10 and 30 seconds and then every minute: the share that is done,
#'   or, with a rule, the quantity that has not converged, the draws that it
#'   needs and the cap, with their times. While a document is knitted the lines
#'   go to the terminal and not into the document.
#' @param keep_data `TRUE` (the default) or `FALSE`: store the data in the fit.
#'   Without the data the fit is smaller. Then `predict()` and the like need
#'   `newdata`, some fits need `data` in [extend()], and methods of the fit's
#'   own data, such as [loo()][loo.gibbsite_fit], [kfold()][kfold.gibbsite_fit]
#'   and [residuals()], are errors. [drop_data()] says what else a fit saves.
#'
#' @section What is promised:
#' 1. *Segments do not change the draws.* A run is done in short segments, so
#'   that it can show its progress and be stopped. The draws are the same to the
#'   last bit for any division into segments.
#' 2. *A fit can be continued.* `extend(fit, n)` continues the chains from their
#'   last states: 200 draws and then 300 more are the same as 500 draws in one
#'   run, also after [saveRDS()] and [readRDS()], in another session.
#' 3. *Ctrl-C returns the draws made so far.* At most one segment is lost.
#' 4. *A crash loses little.* With `checkpoint`, only the sweeps since the last
#'   write are lost; `resume()` continues from there.
#' 5. *Speed never changes a draw.* Threads, cores and the kind of parallel
#'   engine give the same bits, on one machine and one build of the package;
#'   another processor may round differently.
#' 6. *`set.seed()` governs everything.* R's generator is the only source of
#'   randomness, and a run uses exactly one uniform of it (or none, with
#'   `seed`). Its kind is never changed.
#' 7. *Your own functions are safe inside a sampler.* A function given to a
#'   sampler may itself draw random numbers; this does not disturb the chain.
#' 8. *A long sweep can be interrupted too.* A chain that fails raises an error
#'   that names the chain and carries the other chains in its field `fit`.
#'
#' @section Interrupts:
#' The first Ctrl-C stops all chains at the end of their last whole segment.
#' The fit then shows the draws that all chains have. Further draws of faster
#' chains are stored in the fit, and `extend()` uses them first. A run stopped
#' before its first kept draw returns an object that prints and can be extended.
#' The same holds for a run stopped while its starting values are made, or
#' during the search of [laplace()] or [mh_sample()] for the mode: an
#' interrupted start is made again on its stream, and the search continues with
#' the call of `log_density` that was interrupted. The option
#' `gibbsite.on_interrupt` sets what happens next: `"return"` (the default in an
#' interactive session) returns the fit with a warning, `"stop"` (the default
#' elsewhere) ends the call once the checkpoint is written, so that a script
#' does not go on with a short fit.
#'
#' @section Checkpoints:
#' `checkpoint = "a/directory"` lets `resume("a/directory")` go on after a
#' crash, a power cut or the end of a batch job's time, with the same bits as an
#' undisturbed run. At any moment the directory either can be resumed or holds
#' no run yet; in the second case the same call can be made again. A run never
#' overwrites another run, nor files that are not its own. If the disk fills up
#' during the run, a warning is given and the run continues. The files are as
#' large as the draws; they are not compressed.
#'
#' Each write is flushed to the disk (`fsync()`) before the run relies on it. A
#' power cut therefore loses only the sweeps since the last write, provided that
#' the disk does not report a write as complete too early. A write takes some
#' hundredths of a second for each chain. A run spaces its writes so that they
#' take at most a twentieth of its time. (The first and the last write, and one
#' before a chain under a rule drops draws, are always made, and can take a
#' larger share of a run of a few seconds.)
#'
#' One run at a time writes to a directory. A second one raises an error of
#' class `gibbsite_error_lock` that names the process, its machine and its start
#' time. The lock is a lock of the operating system on the file `lock`: it ends
#' with its process, so that no lock is left after a crash. On a network file
#' system it depends on the locks of that file system. (Do not open the file
#' `lock` in functions that you give to a sampler: closing it would release the
#' lock.)
#'
#' A checkpoint holds the functions that the run was given, and [resume()] calls
#' them: trust it as you would trust a script. The page of [resume()] describes
#' the checks, and how to supply the functions again.
#'
#' @section Parallel chains:
#' [future::plan()] determines where the chains run: on the cores of this
#' machine, on other machines, under a batch system. When the plan is
#' sequential, `cores` starts processes on this machine, for this call alone.
#' `threads` is the number inside each chain, so that a run uses up to `cores *
#' threads` processors. With more threads than free processors a chain is slower
#' than with one, because its threads wait for each other. Workers on this
#' machine end by themselves after their session has ended, for any reason:
#' forked ones (`cores`, `multicore`) within two seconds, others at the end of
#' their segment.
#'
#' @section Random numbers:
#' The root of a run is one whole number: `seed`, or one made from one uniform
#' of R's generator. Each chain has its own stream, which depends only on the
#' root, the kind of generator and the chain's number. Adding chains therefore
#' does not change the first ones. Under `RNGkind("L'Ecuyer-CMRG")` chain k has
#' the k-th stream after `set.seed(root)`, see [parallel::nextRNGStream()];
#' under the other kinds the chains have different seeds made from the root. The
#' kinds "Box-Muller", "Buggy Kinderman-Ramage" and "user-supplied" are refused:
#' they keep hidden state, or are known to be wrong.
#'
#' @section Conditions:
#' Errors of the package have the class `gibbsite_error`, warnings
#' `gibbsite_warning`, messages `gibbsite_message`. Those of runs have further
#' classes:
#' - `gibbsite_warning_convergence`: the chains have not converged; with a
#'   rule that ended at its cap also `gibbsite_warning_cap`.
#' - `gibbsite_warning_interrupted` and `gibbsite_error_interrupted`: the run
#'   was interrupted; the error has the fit so far in its field `fit`.
#' - `gibbsite_warning_checkpoint`: a checkpoint could not be written, and the
#'   run goes on. `gibbsite_warning_lock`: its directory cannot be locked.
#' - `gibbsite_error_chain`: a chain failed; the other chains are in the field
#'   `fit`.
#' - `gibbsite_error_generator`: the random number generator cannot be used, or
#'   one of your functions changed its kind. `gibbsite_warning_streams`: two
#'   chains end with the same stream, because a function sets a seed.
#' - `gibbsite_message_progress`, `gibbsite_message_burnin` (a rule added to the
#'   burn-in) and `gibbsite_message_omitted` (rows with missing values are left
#'   out).
#'
#' @section Options:
#' Set with [options()], each with its default:
#' * `gibbsite.on_interrupt` (`"return"` when interactive, otherwise `"stop"`):
#'   what happens after an interrupt, see above.
#' * `gibbsite.max_draws_mb` (2000): a run whose draws, or the tokens of its
#'   documents, would take more megabytes than this is refused before it starts;
#'   `Inf` lifts the limit.
#' * `gibbsite.segment_seconds` (0.25): target length of a segment; an interrupt
#'   may lose one segment.
#' * `gibbsite.round_seconds` (3): target length of a round of chains that run
#'   in other processes; an interrupt may lose one round there.
#' * `gibbsite.checkpoint_seconds` (30): least time between two writes of a
#'   checkpoint; 0 writes after each segment.
#' * `gibbsite.worker_seconds` (`Inf`): how long a sweep waits for a worker that
#'   holds documents or ratings ([shards()]), before it counts as lost.
#' * `gibbsite.times` (`TRUE`): whether fits and warnings say how many seconds
#'   runs take, see [print()][summary.gibbsite_fit].
#'
#' The last five never change a draw. Options are read while the run goes on.
#' If one of your functions sets an option to an invalid value, the run ends
#' with an error that carries the fit so far in its field `fit`.
#'
#' @seealso [until()] for the stopping rule.
#' @examples
#' # What a run may be cut into, and what it may take
#' old <- options(gibbsite.segment_seconds = 0.1, gibbsite.max_draws_mb = 500)
#' options(old)
#'
#' # A stopping rule: see the argument `stop_when`
#' until(rhat = 1.01, ess = 400, max_draws = 10000, every = 500)
NULL

# Validates all running arguments at once: a plain list of class
# "gibbsite_running" with the arguments' names, in the types that the driver
# uses.  draws, burnin and thin are doubles, because they are multiplied;
# chains, threads and cores are integers; a rule `stop_when` has its defaults
# filled in. keep_choices: names of the model's blocks; keep_default: the blocks
# that `keep = NULL` means. `call` is the sampler's own frame.
running <- function(draws = NULL, burnin = 1000, thin = 1, chains = 4,
                    inits = NULL, keep = NULL, threads = 1,
                    cores = getOption("mc.cores", 1L), seed = NULL,
                    checkpoint = NULL, stop_when = NULL,
                    progress = TRUE, keep_data = TRUE,
                    keep_choices = NULL, keep_default = keep_choices,
                    call = rlang::caller_env()) {
  most <- .Machine$integer.max
  draws <- check_count(draws, max = most, null_ok = TRUE, call = call)
  burnin <- as.double(check_count(burnin, min = 0, call = call))
  thin <- as.double(check_count(thin, call = call))
  chains <- check_count(chains, max = most, call = call)
  inits <- check_inits_form(inits, chains, call = call)
  keep <- check_keep(keep, keep_choices, keep_default, call = call)
  threads <- check_count(threads, max = 1024, call = call)
  cores <- check_count(cores, max = 1024, call = call)
  seed <- check_seed(seed, call)
  checkpoint <- check_checkpoint(checkpoint, call = call)
  stop_when <- check_stop_when(stop_when, call = call)
  if (is.null(draws) && is.null(stop_when)) stop_when <- until()
  draws <- as.double(draws %||% 1000)
  progress <- check_flag(progress, call = call)
  keep_data <- check_flag(keep_data, call = call)
  check_options(call)
  stop_when <- resolve_until(stop_when, draws, call)
  check_run_length(stop_when$max_draws, draws, burnin, thin, call)
  structure(
    list(
      draws = draws, burnin = burnin, thin = thin, chains = chains,
      inits = inits, keep = keep, threads = threads, cores = cores,
      seed = seed, checkpoint = checkpoint, stop_when = stop_when,
      progress = progress, keep_data = keep_data
    ),
    class = "gibbsite_running"
  )
}

# running() with the arguments of the sampler whose frame is `frame`: those of
# running()'s that it has, evaluated there. `...`: values in their place, and
# the further arguments of running().
running_of <- function(frame, ...) {
  # quoted, because a user may give a symbol or a call
  set <- lapply(list(...), function(value) call("quote", value))
  own <- setdiff(
    intersect(names(formals(running)), ls(frame)), c(names(set), "call")
  )
  taken <- c(stats::setNames(lapply(own, as.name), own), set, call = frame)
  # eval() would add a frame, which errors would name
  rlang::eval_bare(as.call(c(running, taken)), frame)
}

# Sweeps are counted in doubles, which are exact up to 2^53.
check_run_length <- function(max_draws, draws, burnin, thin, call) {
  longest <- if (is.null(max_draws)) draws else max_draws
  if (burnin + longest * thin > 2^53) {
    sweeps <- format(burnin + longest * thin, digits = 3)
    formula <- if (is.null(max_draws)) "draws * thin" else "max_draws * thin"
    abort_argument(
      "{.code burnin + {formula}} must be at most 2^53 sweeps, not {sweeps}.",
      call = call
    )
  }
}

# Checks only the form: the model checks the entries, or the earlier fit.
check_inits_form <- function(inits, chains, call) {
  if (is.null(inits)) return(NULL)
  if (inherits(inits, c("gibbsite_fit", "gibbsite_partial"))) return(inits)
  if (is.function(inits)) return(check_inits_function(inits, call))
  if (!is.list(inits) || is.object(inits)) {
    abort_expected(
      inits, "NULL, a list, a function or an earlier fit", FALSE, "inits", call
    )
  }
  if (length(inits) != chains) {
    abort_argument(
      c(
        "{.arg inits} must have {chains} entr{?y/ies}, one for each chain, not
         {length(inits)}.",
        i = "Use {.code rep(list(start), {chains})} to start every chain at the
             same place."
      ),
      call = call
    )
  }
  inits
}

# The function must have one argument, the chain's number; others need defaults.
check_inits_function <- function(inits, call) {
  arguments <- formals(args(inits))
  needed <- vapply(arguments, rlang::is_missing, NA) &
    names(arguments) != "..."
  if (length(arguments) == 0 || sum(needed) > 1) {
    count <- sum(needed)
    abort_argument(
      "A function for {.arg inits} must take one argument, the chain's number,
       not {count}.",
      call = call
    )
  }
  inits
}

check_keep <- function(keep, choices, default, call) {
  if (is.null(keep)) return(default)
  check_subset(keep, choices, "parameter blocks", arg = "keep", call = call)
}

# A run never overwrites another: the directory must be new or empty, or hold
# only leftovers of a run that was stopped before its first checkpoint.
check_checkpoint <- function(checkpoint, call) {
  path <- check_new_directory(checkpoint,
    null_ok = TRUE, arg = "checkpoint", call = call
  )
  if (is.null(path)) return(NULL)
  if (directory_holds(path) %in% c("begun", "foreign")) {
    abort_taken(path, call, checkpoint)
  }
  path
}

# The absolute path of a directory to create, or of an empty one. Nothing is
# written here.
check_new_directory <- function(x, null_ok = FALSE,
                                arg = rlang::caller_arg(x),
                                call = rlang::caller_env()) {
  path <- check_string(x, null_ok, arg = arg, call = call)
  if (is.null(path)) return(NULL)
  path <- path.expand(path)
  # most file systems do not allow a longer name
  if (nchar(basename(path), "bytes") > 255) {
    abort_argument(
      "{.arg {arg}} must have a name of 255 bytes at most.", call = call
    )
  }
  parent <- if (dir.exists(path)) path else dirname(path)
  if (file.exists(path) && !dir.exists(path)) {
    abort_argument(
      "{.arg {arg}} must be a directory: {.file {path}} is a file.",
      call = call
    )
  }
  if (!dir.exists(parent)) {
    abort_argument(
      c(
        "{.arg {arg}} must lie in a directory that exists.",
        x = "There is no directory {.file {parent}}."
      ),
      call = call
    )
  }
  check_writable(parent, arg, call)
  if (dir.exists(path)) return(normalizePath(path))
  file.path(normalizePath(parent), basename(path))
}

check_writable <- function(directory, arg, call) {
  if (file.access(directory, 2) != 0) {
    abort_argument(
      c(
        "{.arg {arg}} must be a directory that can be written to.",
        x = "There is no permission to write to {.file {directory}}."
      ),
      call = call
    )
  }
}

# ---- The stopping rule ------------------------------------------------------

#' Run until the draws are good enough
#'
#' Makes a rule for the argument `stop_when` of every sampler: the chains run
#' until R-hat and the effective sample sizes of all quantities meet the
#' thresholds, or until the cap is reached. Most samplers run by this rule if
#' `draws` is not given: see `draws` in [running].
#'
#' The rule is checked only after whole rounds of `every` draws, counted from
#' the first one, when all chains have the same number of draws. The stopping
#' point therefore depends on the draws alone: it does not depend on the speed
#' of the machine, on threads or cores, or on whether the run was interrupted
#' and continued. A warning says when a run stops at the cap.
#'
#' The same growing sample is checked repeatedly, so that the thresholds are met
#' by chance a little more often than with a single check after a fixed number
#' of draws. With rounds of a few hundred draws or more this effect is small.
#'
#' If [mh_sample()] finds that its log density cannot be that of a distribution
#' (see [mh_start]), the run ends at once: no further draws would
#' meet the thresholds.
#'
#' Some internal quantities of a model mix more slowly than the results. For
#' these, R-hat may exceed 1 by five times as much, and an eighth of the
#' effective sample size is enough: see [converged()].
#'
#' R-hat is the rank-normalised split R-hat. The effective sample size is the
#' smaller of bulk and tail, over all chains together, as in Vehtari et al.
#' (2021) and the posterior package. Both are judged on quantities that do not
#' depend on the labelling of components.
#'
#' @section Burn-in:
#' With `burnin = "auto"` the rule also adds to the burn-in. After 1, 2, 4, 8,
#' ... rounds, if the draws do not meet the thresholds and more draws alone
#' would not do (see the causes of [convergence()]: the burn-in is too short, or
#' the chains are stuck; or the effective sample size is below 100), all draws
#' so far become burn-in, unless fewer draws than that remain before the cap.
#' The kept draws, and all averages over them, begin anew there, and the rule is
#' checked again after as many kept draws as were dropped. So at least half of
#' the draws go, and a run does not end by a few draws in which chains happen to
#' agree. A message says how many were dropped.
#'
#' Proposals of [mh_sample()] and [mh_step()] adapt in the run's own `burnin`
#' alone. They are fixed in all draws after it, also in those that become
#' burn-in later. If the acceptance rate is poor after such a run, give a larger
#' `burnin`.
#'
#' @section Draws that are kept:
#' A chain keeps at most some 4,000 draws. When a check finds that it has more,
#' every second one is dropped, and from then on every second one is kept; after
#' as many kept draws again, every fourth one, and so on. So the `thin` of the
#' fit ([coda::mcpar()], `print()`) is that of the call times 1, 2, 4, 8, ... It
#' depends on the number of draws alone: a run in one piece, one that was
#' interrupted and one that was resumed keep the same draws.
#'
#' R-hat and the effective sample sizes are those of the kept draws, both for
#' the rule and for the fit. Of a chain that mixes slowly neighbouring draws say
#' nearly the same, so that little is lost; the effective sample size of all
#' draws is a little larger. Averages that are made as the chains run, such as
#' the topics of [gibbs_lda()], the allocation probabilities of [gibbs_gmm()]
#' and the predictions of [gibbs_bmf()], are over all draws.
#'
#' The number is smaller for a model with more than some 200 quantities: as many
#' draws as take 25 MB in all chains together. It is larger if the rule needs
#' more: `every`, or 10 times `ess` divided by the number of chains (1,000 by
#' default). While a round runs, its draws are held too; if the option
#' `gibbsite.max_draws_mb` has no room for them and for `every` more, the run is
#' refused, or ends after one round if `max_draws` is not given.
#'
#' A fixed number of draws is never thinned: neither `draws` without a rule, nor
#' that of [extend()] without one. `extend(fit, n)` adds `n` draws that are as
#' many sweeps apart as those of `fit`. In `extend(fit, n, stop_when = until())`
#' at most `n` draws are made. `max_draws` then counts from the first draw of
#' `fit`; draws that became burn-in before do not count again.
#'
#' @param rhat Number above 1 (default 1.01): the largest R-hat allowed. `Inf`
#'   sets no limit.
#' @param ess Number, 0 or more (default 400): the smallest effective sample
#'   size allowed, over all chains together. 0 sets no limit.
#' @param max_draws `NULL` or a whole number, `every` or more: the largest
#'   number of draws made in each chain. It is rounded down to whole rounds,
#'   with a message, if it is not a multiple of `every`. Draws that become
#'   burn-in count. `NULL` (the default) is 20 times the sampler's `draws`, and
#'   60 times for at most 1,000 observations, in whole rounds, at least one.
#'   With more observations, and no `seconds`, such a run is given up between a
#'   quarter and three quarters of these draws, if it would need more than twice
#'   those that are left.
#' @param every `NULL` or a whole number, 1 or more: the draws made between two
#'   checks. `NULL` (the default) is the sampler's `draws`.
#' @param burnin `"auto"` (default) or `"fixed"`: whether draws may become
#'   burn-in.
#' @param seconds `NULL` (the default) or a number above 0: the run ends with
#'   the first round that ends after this time, whether it has converged or not.
#'   The time is that of the call: [resume()] and [extend()] have it again. The
#'   number of draws then depends on the speed of the machine, and the same call
#'   may give another number of draws; the draws that both runs have are the
#'   same.
#' @param ... Not used: any other argument is an error.
#' @return An object of class `gibbsite_until`, a list of the six arguments.
#' @section Errors:
#' An argument out of its range raises an error of class
#' `gibbsite_error_argument`; so does a rule without a threshold, with `rhat =
#' Inf` and `ess = 0`.
#' @references
#' Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C.
#' (2021). Rank-normalization, folding, and localization: an improved R-hat for
#' assessing convergence of MCMC. *Bayesian Analysis*, 16(2), 667-718.
#' \doi{10.1214/20-BA1221}
#' @seealso [running] for the other running arguments.
#' @examples
#' until()
#' until(rhat = 1.005, ess = 1000, max_draws = 20000, every = 1000)
#' @export
until <- function(rhat = 1.01, ess = 400, max_draws = NULL, every = NULL,
                  burnin = c("auto", "fixed"), seconds = NULL, ...) {
  check_no_extra(...)
  most <- .Machine$integer.max
  rule <- list(
    rhat = check_number(rhat, lower = 1, lower_open = TRUE, infinite_ok = TRUE),
    ess = check_number(ess, lower = 0),
    max_draws = check_count(max_draws, max = most, null_ok = TRUE),
    every = check_count(every, max = most, null_ok = TRUE),
    burnin = check_choice(burnin, c("auto", "fixed")),
    seconds = check_number(
      seconds, lower = 0, lower_open = TRUE, null_ok = TRUE
    )
  )
  if (is.infinite(rule$rhat) && rule$ess <= 0) {
    abort_argument(
      c(
        "{.fn until} must have a threshold: {.code rhat = Inf} and
         {.code ess = 0} are met by any draws.",
        i = "For a run of fixed length leave {.arg stop_when} out."
      )
    )
  }
  if (!is.null(max_draws) && !is.null(every)) {
    check_one_round(rule$max_draws, rule$every)
  }
  structure(rule, class = "gibbsite_until")
}

check_stop_when <- function(stop_when, call = rlang::caller_env()) {
  check_class(stop_when, "gibbsite_until", "until()",
    null_ok = TRUE, arg = "stop_when", call = call
  )
  if (!is.null(stop_when)) {
    remade(stop_when, until, "until()", arg = "stop_when", call = call)
  }
}

check_one_round <- function(max_draws, every, call = rlang::caller_env(),
                            source = "`every`") {
  if (max_draws < every) {
    abort_argument(
      "{.arg max_draws} must be at least {format_number(every)} ({source}), not
       {format_number(max_draws)}.",
      call = call
    )
  }
}

# The rule with its defaults filled in from `draws`, and the cap in whole
# rounds; NULL stays NULL. A cap by default is marked for
# complete_rule().
resolve_until <- function(rule, draws, call) {
  if (is.null(rule)) return(NULL)
  own <- !is.null(rule$every)
  every <- as.double(if (own) rule$every else draws)
  by_default <- is.null(rule$max_draws)
  if (by_default) {
    max_draws <- every * max(1, (20 * draws) %/% every)
  } else {
    check_one_round(rule$max_draws, every, call,
      source = if (own) "`every`" else "`draws`"
    )
    max_draws <- whole_rounds(rule$max_draws, every)
  }
  structure(
    list(
      rhat = rule$rhat, ess = rule$ess, max_draws = max_draws, every = every,
      burnin = rule$burnin, seconds = rule$seconds
    ),
    class = "gibbsite_until", by_default = if (by_default) TRUE
  )
}

# The rule with `kept`, the number of draws that a chain keeps at most, for
# which, and for those of a round, there must be room. A cap by default is
# raised for few observations, whose sweeps are quick; a run of others is given
# up early if it will not converge.
complete_rule <- function(running, model, call) {
  rule <- running$stop_when
  if (is.null(rule)) {
    return(running)
  }
  fit_in <- function(mb) {
    floor(mb * 2^20 / (8 * running$chains * length(model$columns)))
  }
  room <- fit_in(gibbsite_option("max_draws_mb", call = call))
  wanted <- max(
    min(most_kept$draws, fit_in(most_kept$mb)),
    ceiling(10 * rule$ess / running$chains)
  )
  rule$kept <- max(rule$every, min(wanted, room - rule$every))
  if (isTRUE(attr(rule, "by_default"))) {
    few <- !is.na(model$nobs) && model$nobs <= 1000
    rule$gives_up <- !few && is.null(rule$seconds)
    rule$max_draws <- if (room < 2 * rule$every) {
      rule$every
    } else {
      rule$max_draws * (if (few) 3 else 1)
    }
    attr(rule, "by_default") <- NULL
  }
  running$stop_when <- rule
  running
}

# Under a rule a chain keeps as many draws, and all chains as many megabytes of
# them, unless the rule needs more.
most_kept <- list(draws = 4000, mb = 25)

whole_rounds <- function(max_draws, every) {
  cap <- every * (max_draws %/% every)
  if (cap < max_draws) {
    given <- format_number(max_draws)
    inform_gibbsite(
      c(i = "{.arg max_draws} is taken as {format_number(cap)}, not {given}:
             the stopping rule goes by whole rounds of {format_number(every)}
             draws."),
      class = "rounded"
    )
  }
  cap
}

#' @export
print.gibbsite_until <- function(x, ...) {
  x <- remade(x, until, "until()")
  asks <- c(
    if (is.finite(x$rhat)) paste("R-hat at most", format(x$rhat)),
    if (x$ess > 0) paste("effective sample size at least", format(x$ess))
  )
  count <- function(n, default) {
    paste(if (is.null(n)) default else format_number(n), "draws of each chain")
  }
  writeLines(c(
    paste0("Run until ", paste(asks, collapse = " and\n  ")),
    paste("  looked at every", count(x$every, "`draws`")),
    paste("  at most", count(x$max_draws, "20 * `draws`")),
    if (is.null(x$max_draws)) {
      "  (60 * `draws` for at most 1,000 observations)"
    },
    if (is.null(x$max_draws) && is.null(x$seconds)) {
      "  given up early, with more observations, if it will not converge"
    },
    if (!is.null(x$seconds)) {
      paste("  for", seconds_words(x$seconds), "or to the end of that round")
    },
    if (x$burnin == "auto") "  draws become burn-in where that is too short"
  ))
  invisible(x)
}

# The rule of a continued run counts draws from the first one, and allows at
# least one more check.
continued_rule <- function(rule, shown, draws, call) {
  if (is.null(rule)) {
    return(NULL)
  }
  rule["max_draws"] <- list(min(rule$max_draws, shown + draws))
  rule <- resolve_until(rule, draws, call)
  if (rule$max_draws <= shown) {
    abort_argument(
      c(
        paste0(
          "{.arg stop_when} allows {format_number(rule$max_draws)} draws of ",
          "each chain (`max_draws`, in whole rounds of `every`); the fit has ",
          "{format_number(shown)}."
        ),
        i = "Raise `max_draws` in `until()`, or `draws`."
      ),
      call = call
    )
  }
  rule
}
