#include "routines.h"
#include "threads.h"

#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

/* The type of a routine of so many SEXP arguments.  Taking the address through
 * it makes the compiler compare the count given in routines.h with the
 * prototype. */
typedef SEXP (*routine_0)(void);
typedef SEXP (*routine_1)(SEXP);
typedef SEXP (*routine_2)(SEXP, SEXP);
typedef SEXP (*routine_3)(SEXP, SEXP, SEXP);
typedef SEXP (*routine_4)(SEXP, SEXP, SEXP, SEXP);
typedef SEXP (*routine_5)(SEXP, SEXP, SEXP, SEXP, SEXP);
typedef SEXP (*routine_6)(SEXP, SEXP, SEXP, SEXP, SEXP, SEXP);

#define CHECK_ARITY(name, arity) \
  static const routine_##arity name##_ = C_##name;
GIBBSITE_ROUTINES(CHECK_ARITY)

void attribute_visible R_init_gibbsite(DllInfo *dll);

void attribute_visible R_init_gibbsite(DllInfo *dll) {
#define CALL_ENTRY(name, arity) \
  {"C_" #name, (DL_FUNC)(void (*)(void))name##_, arity},
  const R_CallMethodDef entries[] = {
    GIBBSITE_ROUTINES(CALL_ENTRY){NULL, NULL, 0}};
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
  threads_watch_forks();
}
