/* Responses in categories without an order: with K - 1 models of hlm_latent.h and
 * eta_i1 = 0,
 *
 *   (s_i1, ..., s_iK) ~ Multinomial(m_i, p_i),   p_ik = exp(eta_ik) / sum_l exp(eta_il),
 *   eta_ik = o_i + x_i'b_k + sum_f z_fi'u_fk,j(f,i),   k = 2, ..., K.
 *
 * Given the eta of the other categories, that of k has the likelihood of
 *
 *   s_ik ~ Binomial(m_i, F(eta_ik - c_ik)),   c_ik = log(sum_{l != k} exp(eta_il)),
 *
 * F the logistic distribution function (Holmes & Held 2006, doi:10.1214/06-BA105;
 * Polson, Scott & Windle 2013, doi:10.1080/01621459.2013.829001).  A sweep:
 *   for each category k = 2, ..., K:  a sweep of its model, with o_i - c_ik for o_i
 *   with K > 2 categories
 *     b_k -> b_k - d for all k
 *     for each bar f, group j and term t:  u_fkjt -> u_fkjt - d for all k
 * The last two move what all categories have in common, which is slow otherwise where
 * the first category is rare or apart from the others (moves along a group: Liu &
 * Sabatti 2000, doi:10.1093/biomet/87.2.353).  To add d to the eta of the first category
 * would do the same, so d has the likelihood of a logistic regression of the first
 * category against the others as they are:
 *   of b    linear predictor x_i'd,  prior N(P^-1 sum_k P_k (b_k - m_k), P^-1),
 *           P = sum_k P_k,  where b_k ~ N(m_k, P_k^-1)
 *   of u    linear predictor z_fit d in group j,  prior N(Q^-1 sum_k (Q_k u_fkj)_t, Q^-1),
 *           Q = sum_k (Q_k)_tt,  Q_k = Sigma_fk^-1;  a slice step
 *
 * With proposals the effects of a category are drawn by hlm_count.h instead, where rows
 * have many trials.
 *
 * n rows.                                                                      */
#ifndef GIBBSITE_HLM_CATEGORIES_H
#define GIBBSITE_HLM_CATEGORIES_H

#include <stddef.h>

#include "hlm/hlm_count.h"
#include "hlm/hlm_latent.h"
#include "numeric/status.h"
#include "run/scan.h"

/* part: K - 1 with logit responses (hlm_binomial.h); shift: of d, with the responses s_i1
 * and without groups, or NULL; proposals: K of the same states, the last of shift if
 * there is one, or NULL; offset: n, o, or NULL for none; eta: n x (K - 1); rest:
 * n, the offset of the category that is drawn; reference: n, s_i1. */
typedef struct {
  size_t parts, n;
  hlm_latent *part, *shift;
  hlm_count *proposals;
  const double *offset;
  double *eta, *rest, *reference;
} hlm_categories;

size_t hlm_categories_work_size(size_t parts, size_t n);

/* A model of `parts` opened models, `shift` and `proposals` (borrowed), which have the same
 * rows and fixed effects, and the parts the offset o, in `work`. */
void hlm_categories_open(hlm_categories *model, hlm_latent *part, size_t parts,
                         hlm_latent *shift, hlm_count *proposals, void *work);

/* A scan_model's functions.  The columns: the fixed effects of each category; the
 * standard deviations and correlations of each; log_lik; the deviations of each. */
size_t hlm_categories_columns(const hlm_categories *model);
status hlm_categories_sweep(void *model, const scan_control *control);
void hlm_categories_record(void *model, double *row, size_t stride);

#endif
