/* A model of hlm_latent.h with binomial responses as one of hlm_count.h, which draws
 * its effects by proposals in place of latent responses. */
#ifndef GIBBSITE_HLM_PROPOSALS_H
#define GIBBSITE_HLM_PROPOSALS_H

#include <stddef.h>

#include "hlm/hlm_count.h"
#include "hlm/hlm_latent.h"

/* Of a bar whose rows are not reduced the prior alone; none: 0 for each group, and one
 * more. */
hlm_data hlm_prior_of_bar(hlm_data bar, int *none);

size_t hlm_proposals_work_size(const hlm_latent_data *data);

/* The data (borrowed) in the form of hlm_count.h, with places in `work`.  Bars without
 * terms are left out.  There are no moves of nearly nested bars. */
hlm_count_data hlm_proposals_data(const hlm_latent_data *data, void *work);

#endif
