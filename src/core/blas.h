/* BLAS and LAPACK as R has them, with the lengths of character arguments that
 * Fortran compilers pass (FCONE). */
#ifndef GIBBSITE_BLAS_H
#define GIBBSITE_BLAS_H

#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif

#endif
