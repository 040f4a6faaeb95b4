/* Outcomes of the functions of the core.  None of them stops R: the R side of
 * a model turns a status into a condition. */
#ifndef GIBBSITE_STATUS_H
#define GIBBSITE_STATUS_H

typedef enum {
  STATUS_OK = 0,
  STATUS_INTERRUPTED,           /* the stop callback answered yes          */
  STATUS_NOT_POSITIVE_DEFINITE, /* a matrix has no Cholesky factor         */
  STATUS_NOT_FINITE,            /* a density or a sum left the real line   */
  STATUS_NO_MEMORY,             /* an allocation failed or would overflow  */
  STATUS_USER_FUNCTION          /* a function of the user's gave no answer */
} status;

#endif
