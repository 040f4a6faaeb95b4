/* Every native routine, once: init.c registers from this list with the number
 * of arguments that the prototype has. */
#ifndef GIBBSITE_ROUTINES_H
#define GIBBSITE_ROUTINES_H

#include <Rinternals.h>

/* name, number of arguments */
#define GIBBSITE_ROUTINES(ROUTINE)    \
  ROUTINE(gmm_sweeps, 5)              \
  ROUTINE(gmm_evaluate, 6)            \
  ROUTINE(gmm_unknown_sweeps, 4)      \
  ROUTINE(near_scatter, 4)            \
  ROUTINE(design_columns, 2)          \
  ROUTINE(laplace_sweeps, 4)          \
  ROUTINE(logistic_search, 3)         \
  ROUTINE(logistic_derivatives, 2)    \
  ROUTINE(logistic_draws, 3)          \
  ROUTINE(logistic_mean, 3)           \
  ROUTINE(logistic_sweeps, 4)         \
  ROUTINE(logistic_predictor, 2)      \
  ROUTINE(gibbs_sample_sweeps, 4)     \
  ROUTINE(native_callable, 2)         \
  ROUTINE(native_pointer, 2)          \
  ROUTINE(native_value, 2)            \
  ROUTINE(native_gradient, 2)         \
  ROUTINE(mh_sweeps, 6)               \
  ROUTINE(mh_settle, 4)               \
  ROUTINE(mh_evaluate, 4)             \
  ROUTINE(mh_variates, 1)             \
  ROUTINE(bmf_sweeps, 5)              \
  ROUTINE(bmf_sweeps_apart, 5)        \
  ROUTINE(bmf_part, 5)                \
  ROUTINE(bmf_latents, 5)             \
  ROUTINE(bmf_linear, 6)              \
  ROUTINE(bmf_fold_in, 6)             \
  ROUTINE(lm_sweeps, 4)               \
  ROUTINE(hlm_sweeps, 4)              \
  ROUTINE(hlm_latent_sweeps, 4)       \
  ROUTINE(hlm_categories_sweeps, 4)   \
  ROUTINE(hlm_count_sweeps, 4)        \
  ROUTINE(hlm_crossed_sweeps, 4)      \
  ROUTINE(hlm_conditionals, 4)        \
  ROUTINE(hlm_log_marginal, 3)        \
  ROUTINE(pmf_sweeps, 4)              \
  ROUTINE(pmf_fold_in, 4)             \
  ROUTINE(lda_sweeps, 4)              \
  ROUTINE(lda_sweeps_apart, 5)        \
  ROUTINE(lda_blocks, 1)              \
  ROUTINE(lda_shard, 4)               \
  ROUTINE(lda_fold_in, 6)             \
  ROUTINE(lda_token_probabilities, 5) \
  ROUTINE(lda_left_to_right, 6)       \
  ROUTINE(wishart, 4)                 \
  ROUTINE(sparse_fault, 3)            \
  ROUTINE(file_size_signal, 1)        \
  ROUTINE(sync_path, 2)               \
  ROUTINE(hash, 2)                    \
  ROUTINE(checksum, 1)                \
  ROUTINE(convergence, 1)             \
  ROUTINE(column_quantiles, 2)        \
  ROUTINE(column_moments, 1)          \
  ROUTINE(coclustering, 1)            \
  ROUTINE(mixture_quantiles, 3)       \
  ROUTINE(t_mixture_quantiles, 2)     \
  ROUTINE(expected_responses, 2)      \
  ROUTINE(predicted_columns, 3)       \
  ROUTINE(least_counts, 5)            \
  ROUTINE(mean_error, 1)              \
  ROUTINE(process_started, 1)         \
  ROUTINE(end_with_parent, 2)

SEXP C_gmm_sweeps(SEXP data, SEXP state, SEXP n, SEXP control, SEXP mode);
SEXP C_gmm_unknown_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_near_scatter(SEXP z, SEXP white, SEXP count, SEXP rounding);
SEXP C_gmm_evaluate(SEXP form, SEXP x, SEXP blocks, SEXP order, SEXP pivot,
                    SEXP what);
SEXP C_logistic_mean(SEXP m, SEXP s, SEXP slope);
SEXP C_logistic_predictor(SEXP x, SEXP data);
SEXP C_design_columns(SEXP x, SEXP counts);
SEXP C_laplace_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_logistic_search(SEXP data, SEXP start, SEXP control);
SEXP C_logistic_derivatives(SEXP data, SEXP w);
SEXP C_logistic_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_logistic_draws(SEXP data, SEXP w, SEXP what);
SEXP C_gibbs_sample_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_native_callable(SEXP package, SEXP symbol);
SEXP C_native_pointer(SEXP address, SEXP data);
SEXP C_native_value(SEXP pointer, SEXP x);
SEXP C_native_gradient(SEXP pointer, SEXP x);
SEXP C_mh_sweeps(SEXP spec, SEXP functions, SEXP state, SEXP n, SEXP control,
                 SEXP place);
SEXP C_mh_settle(SEXP spec, SEXP functions, SEXP state, SEXP place);
SEXP C_mh_variates(SEXP compiled);
SEXP C_mh_evaluate(SEXP density, SEXP point, SEXP names, SEXP place);
SEXP C_bmf_sweeps(SEXP data, SEXP state, SEXP n, SEXP control, SEXP mode);
SEXP C_bmf_sweeps_apart(SEXP data, SEXP state, SEXP n, SEXP control,
                        SEXP function);
SEXP C_bmf_part(SEXP sizes, SEXP part, SEXP kind, SEXP request, SEXP threads);
SEXP C_bmf_latents(SEXP sizes, SEXP part, SEXP side, SEXP request,
                   SEXP threads);
SEXP C_bmf_linear(SEXP sizes, SEXP draws, SEXP user, SEXP item, SEXP center,
                  SEXP moments);
SEXP C_bmf_fold_in(SEXP sizes, SEXP ratings, SEXP kind, SEXP hyper, SEXP v,
                   SEXP shift);
SEXP C_lm_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_hlm_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_hlm_latent_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_hlm_categories_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_hlm_count_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_hlm_crossed_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_hlm_conditionals(SEXP data, SEXP b, SEXP factor, SEXP beta);
SEXP C_hlm_log_marginal(SEXP data, SEXP factor, SEXP log_beta);
SEXP C_pmf_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_pmf_fold_in(SEXP data, SEXP u, SEXP v, SEXP sweeps);
SEXP C_lda_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_lda_sweeps_apart(SEXP data, SEXP state, SEXP n, SEXP control,
                        SEXP function);
SEXP C_lda_blocks(SEXP data);
SEXP C_lda_shard(SEXP data, SEXP state, SEXP request, SEXP threads);
SEXP C_lda_fold_in(SEXP word, SEXP start, SEXP phi, SEXP alpha, SEXP sweeps,
                   SEXP threads);
SEXP C_lda_token_probabilities(SEXP word, SEXP start, SEXP phi, SEXP theta,
                               SEXP threads);
SEXP C_lda_left_to_right(SEXP word, SEXP start, SEXP phi, SEXP alpha,
                         SEXP particles, SEXP threads);
SEXP C_wishart(SEXP n_draws, SEXP df_number, SEXP factor, SEXP inverse);
SEXP C_sparse_fault(SEXP start, SEXP index, SEXP limit);
SEXP C_file_size_signal(SEXP ignore);
SEXP C_sync_path(SEXP path, SEXP directory);
SEXP C_hash(SEXP x, SEXP code);
SEXP C_convergence(SEXP draws);
SEXP C_column_quantiles(SEXP values, SEXP probs);
SEXP C_column_moments(SEXP values);
SEXP C_coclustering(SEXP z);
SEXP C_mixture_quantiles(SEXP mean, SEXP sd, SEXP probs);
SEXP C_t_mixture_quantiles(SEXP data, SEXP probs);
SEXP C_expected_responses(SEXP eta, SEXP link);
SEXP C_predicted_columns(SEXP data, SEXP sd, SEXP probs);
SEXP C_least_counts(SEXP start, SEXP slope, SEXP rise, SEXP probs, SEXP most);
SEXP C_mean_error(SEXP draws);
SEXP C_checksum(SEXP bytes);
SEXP C_process_started(SEXP pid);
SEXP C_end_with_parent(SEXP parent, SEXP started);

#endif
