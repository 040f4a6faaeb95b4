/* A sweep of a Gaussian mixture (gmm.h): its work space, its order of blocks, and
 * what is recorded of it. */
#ifndef GIBBSITE_GMM_SWEEP_H
#define GIBBSITE_GMM_SWEEP_H

#include "gmm/gmm.h"

/* Bytes of work space; 0 when the count overflows. */
size_t gmm_work_size(const gmm_data *data);

/* Prepares a model on `data` and `state` (both borrowed) in `work`: the factors
 * and the sums that follow from the state.  A pure function of them. */
status gmm_open(gmm_model *model, const gmm_data *data, const gmm_state *state,
                void *work, int threads);

/* One sweep of the Gibbs sampler; a scan_model's `sweep`.  With model->mode each
 * block goes to its conditional mode instead (iterated conditional modes). */
status gmm_sweep(void *model, const scan_control *control);

/* z, Sigma: whole groups of observations (gmm_moves.h).  Leaves mu and pi to be
 * drawn. */
void gmm_move_groups(gmm_model *m, const scan_control *control);

/* The stored quantities: pi (k), mu (k x d), Sigma (full k x d x d, diagonal k x
 * d, shared d x d), log_lik, n_occupied, z (n) and x_missing where kept. */
size_t gmm_columns(const gmm_data *data);
void gmm_record(void *model, double *row, size_t stride);

/* Parts of a row: the covariances, which return where the row goes on; z and
 * x_missing where kept. */
double *gmm_record_covariances(const gmm_model *m, double *row, size_t stride);
void gmm_record_observations(const gmm_model *m, double *row, size_t stride);

#endif
