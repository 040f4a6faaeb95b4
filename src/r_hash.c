/* The bytes of R objects, of which R/saved.R takes the hash.
 *
 * They are defined here alone: neither the version of R nor the processor, nor
 * how R stores a vector, changes them. Numbers are little-endian. An object is
 *
 *   its letter (1 byte), its length (8) and its elements;
 *   the number of its attributes (8), and each: its name (a string) and its value
 *   (an object), in the order of the names' bytes.
 *
 *   letter         elements
 *   N NULL
 *   l logical      1 byte: 0 FALSE, 1 TRUE, 2 NA
 *   i integer      4 bytes; NA is -2^31
 *   d double       8 bytes, IEEE 754; one zero, one NaN, one NA
 *   c complex      two doubles
 *   r raw          1 byte
 *   s character    strings
 *   L list, X expression, P pairlist, C call: objects
 *   n name         a string
 *   f function     objects: arguments and body
 *   p primitive    an object: how R writes it
 *   e environment of a package, and R's own: its name
 *   E environment  other ones: their objects by name, like attributes
 *   B environment  that occurred before: 8 bytes, the first one is 0
 *   S S4           none; slots are attributes
 *   o others       none: external pointers, weak references
 *
 * A string is 1 byte (0 NA, 1 text, 2 marked as bytes), its length (8) and its
 * bytes, text in UTF-8. Source references, the environments of functions and of
 * formulas, pointers to memory (of data.table) and factorisations that a matrix
 * of Matrix remembers are no part of a value. */
#include <R.h>
#include <Rinternals.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/siphash.h"
#include "routines.h"

enum { REGION = 256 }; /* elements at a time */

typedef struct {
  siphash hash;
  SEXP seen; /* environments, the last one first */
  PROTECT_INDEX at;
  int code; /* pointers are allowed */
} walk;

static void add_object(walk *w, SEXP x);

/* An interrupt is looked for every eight megabytes. */
static void add(walk *w, const unsigned char *bytes, size_t n) {
  const size_t most = (size_t)1 << 23;
  while (n > 0) {
    const size_t now = n < most ? n : most;
    const uint64_t before = w->hash.length / most;
    siphash_add(&w->hash, bytes, now);
    if (w->hash.length / most != before)
      R_CheckUserInterrupt();
    bytes += now;
    n -= now;
  }
}

static void add_number(walk *w, uint64_t x, size_t size) {
  unsigned char bytes[8];
  bytes_of(x, size, bytes);
  add(w, bytes, size);
}

static void add_head(walk *w, char letter, R_xlen_t length) {
  add_number(w, (unsigned char)letter, 1);
  add_number(w, (uint64_t)length, 8);
}

static const char *text_of(SEXP string) {
  return Rf_getCharCE(string) == CE_BYTES ? CHAR(string)
                                          : Rf_translateCharUTF8(string);
}

static void add_string(walk *w, SEXP string) {
  const void *top = vmaxget();
  const int missing = string == NA_STRING;
  const char *text = missing ? "" : text_of(string);
  const size_t n = strlen(text);
  add_number(w, missing ? 0 : Rf_getCharCE(string) == CE_BYTES ? 2 : 1, 1);
  add_number(w, n, 8);
  add(w, (const unsigned char *)text, n);
  vmaxset(top);
}

/* ---- vectors of numbers -------------------------------------------------- */

static uint64_t double_bits(double x) {
  uint64_t bits;
  if (x != x)
    return R_IsNA(x) ? UINT64_C(0x7ff00000000007a2)
                     : UINT64_C(0x7ff8000000000000);
  x = x == 0 ? 0 : x;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static size_t doubles_at(SEXP x, R_xlen_t i, unsigned char *bytes) {
  double part[REGION];
  const R_xlen_t n = REAL_GET_REGION(x, i, REGION, part);
  for (R_xlen_t j = 0; j < n; j++)
    bytes_of(double_bits(part[j]), 8, bytes + 8 * j);
  return 8 * (size_t)n;
}

static size_t complex_at(SEXP x, R_xlen_t i, unsigned char *bytes) {
  Rcomplex part[REGION];
  const R_xlen_t n = COMPLEX_GET_REGION(x, i, REGION, part);
  for (R_xlen_t j = 0; j < n; j++) {
    bytes_of(double_bits(part[j].r), 8, bytes + 16 * j);
    bytes_of(double_bits(part[j].i), 8, bytes + 16 * j + 8);
  }
  return 16 * (size_t)n;
}

static size_t integers_at(SEXP x, R_xlen_t i, unsigned char *bytes) {
  int part[REGION];
  const R_xlen_t n = INTEGER_GET_REGION(x, i, REGION, part);
  for (R_xlen_t j = 0; j < n; j++)
    bytes_of((uint32_t)part[j], 4, bytes + 4 * j);
  return 4 * (size_t)n;
}

static size_t logicals_at(SEXP x, R_xlen_t i, unsigned char *bytes) {
  int part[REGION];
  const R_xlen_t n = LOGICAL_GET_REGION(x, i, REGION, part);
  for (R_xlen_t j = 0; j < n; j++)
    bytes[j] = part[j] == NA_LOGICAL ? 2 : part[j] != 0;
  return (size_t)n;
}

static size_t raws_at(SEXP x, R_xlen_t i, unsigned char *bytes) {
  return (size_t)RAW_GET_REGION(x, i, REGION, bytes);
}

/* `bytes_at` lays out up to REGION elements from one on, `size` bytes each. */
static void add_numbers(walk *w, char letter, SEXP x, size_t size,
                        size_t (*bytes_at)(SEXP, R_xlen_t, unsigned char *)) {
  unsigned char bytes[16 * REGION];
  const R_xlen_t n = XLENGTH(x);
  add_head(w, letter, n);
  for (R_xlen_t i = 0; i < n;) {
    const size_t filled = bytes_at(x, i, bytes);
    if (filled == 0)
      Rf_error("a vector has fewer elements than its length");
    add(w, bytes, filled);
    i += (R_xlen_t)(filled / size);
  }
}

/* ---- objects in objects -------------------------------------------------- */

/* f(x), for a function of base that has it under this name. */
static SEXP ask(const char *f, SEXP x) {
  SEXP quoted = PROTECT(Rf_lang2(R_QuoteSymbol, x));
  SEXP call = PROTECT(Rf_lang2(Rf_install(f), quoted));
  SEXP value = Rf_eval(call, R_BaseEnv);
  UNPROTECT(2);
  return value;
}

static void add_list(walk *w, char letter, SEXP x) {
  const R_xlen_t n = XLENGTH(x);
  add_head(w, letter, n);
  for (R_xlen_t i = 0; i < n; i++) {
    add_object(w, PROTECT(VECTOR_ELT(x, i)));
    UNPROTECT(1);
  }
}

/* The fourth element of a call of `function` is a source reference. */
static void add_pairs(walk *w, char letter, SEXP x) {
  R_xlen_t n = Rf_xlength(x);
  if (TYPEOF(x) == LANGSXP && CAR(x) == Rf_install("function") && n > 3)
    n = 3;
  add_head(w, letter, n);
  for (R_xlen_t i = 0; i < n; i++, x = CDR(x))
    add_object(w, CAR(x));
}

typedef struct {
  const char *name;
  R_xlen_t at;
} named;

static int by_name(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* The elements of a list by their names, in the order of these; `counts` says
 * which ones. */
static void add_named(walk *w, SEXP values, SEXP owner,
                      int (*counts)(SEXP, const char *, SEXP)) {
  const void *top = vmaxget();
  SEXP names = PROTECT(Rf_getAttrib(values, R_NamesSymbol));
  const R_xlen_t n = XLENGTH(values);
  named *order = (named *)R_alloc((size_t)n, sizeof *order);
  R_xlen_t count = 0;
  for (R_xlen_t i = 0; i < n; i++) {
    const char *name = text_of(STRING_ELT(names, i));
    if (counts(owner, name, VECTOR_ELT(values, i)))
      order[count++] = (named){name, i};
  }
  qsort(order, (size_t)count, sizeof *order, by_name);
  add_number(w, (uint64_t)count, 8);
  for (R_xlen_t i = 0; i < count; i++) {
    add_string(w, STRING_ELT(names, order[i].at));
    add_object(w, VECTOR_ELT(values, order[i].at));
  }
  UNPROTECT(1);
  vmaxset(top);
}

static int is_any(SEXP owner, const char *name, SEXP value) {
  (void)owner, (void)name, (void)value;
  return 1;
}

static int is_of_matrix(SEXP x) {
  SEXP package =
    Rf_getAttrib(Rf_getAttrib(x, R_ClassSymbol), Rf_install("package"));
  return TYPEOF(package) == STRSXP && XLENGTH(package) == 1 &&
         strcmp(CHAR(STRING_ELT(package, 0)), "Matrix") == 0;
}

/* Whether an attribute is part of the value. */
static int is_value(SEXP owner, const char *name, SEXP value) {
  static const char *const none[] = {"srcref", "srcfile", "wholeSrcref",
                                     ".Environment"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (strcmp(name, none[i]) == 0)
      return 0;
  if (strcmp(name, "factors") == 0 && TYPEOF(value) == VECSXP)
    return !is_of_matrix(owner);
  return TYPEOF(value) != EXTPTRSXP;
}

static void add_attributes(walk *w, SEXP x) {
  SEXP all = PROTECT(TYPEOF(x) == SYMSXP ? R_NilValue : ask("attributes", x));
  if (all == R_NilValue)
    add_number(w, 0, 8);
  else
    add_named(w, all, x, is_value);
  UNPROTECT(1);
}

static void add_function(walk *w, SEXP x) {
  add_head(w, 'f', 2);
  add_object(w, PROTECT(ask("formals", x)));
  add_object(w, PROTECT(ask("body", x)));
  UNPROTECT(2);
}

static int has_name(SEXP env) {
  return env == R_GlobalEnv || env == R_BaseEnv || env == R_EmptyEnv ||
         env == R_BaseNamespace || R_IsNamespaceEnv(env) || R_IsPackageEnv(env);
}

/* 1: it occurred before, and its number has been added. */
static int is_again(walk *w, SEXP env) {
  uint64_t later = 0;
  for (SEXP s = w->seen; s != R_NilValue; s = CDR(s), later++)
    if (CAR(s) == env) {
      add_head(w, 'B', 1);
      add_number(w, (uint64_t)Rf_xlength(w->seen) - 1 - later, 8);
      return 1;
    }
  return 0;
}

/* 1: its attributes are to follow. */
static int add_environment(walk *w, SEXP env) {
  if (has_name(env)) {
    add_head(w, 'e', 1);
    add_string(w, STRING_ELT(PROTECT(ask("environmentName", env)), 0));
    UNPROTECT(1);
    return 0;
  }
  if (is_again(w, env))
    return 0;
  REPROTECT(w->seen = Rf_cons(env, w->seen), w->at);
  SEXP list = Rf_install("as.list.environment"), all = Rf_install("all.names");
  SEXP call = PROTECT(Rf_lang3(list, env, Rf_ScalarLogical(1)));
  SET_TAG(CDDR(call), all);
  SEXP values = PROTECT(Rf_eval(call, R_BaseEnv));
  add_number(w, 'E', 1);
  if (XLENGTH(values) == 0)
    add_number(w, 0, 8);
  else
    add_named(w, values, env, is_any);
  UNPROTECT(2);
  return 1;
}

static void add_other(walk *w, SEXP x) {
  if (!w->code)
    Rf_error(
      "an object of type '%s' has no value outside its session: it cannot "
      "be told whether two are the same",
      Rf_type2char((SEXPTYPE)TYPEOF(x)));
  add_head(w, 'o', 0);
}

static void add_strings(walk *w, SEXP x) {
  const R_xlen_t n = XLENGTH(x);
  add_head(w, 's', n);
  for (R_xlen_t i = 0; i < n; i++)
    add_string(w, STRING_ELT(x, i));
}

/* Letter, length and elements; 0 if no attributes are to follow. */
static int add_elements(walk *w, SEXP x) {
  switch (TYPEOF(x)) {
  case NILSXP:
    return add_head(w, 'N', 0), 1;
  case LGLSXP:
    return add_numbers(w, 'l', x, 1, logicals_at), 1;
  case INTSXP:
    return add_numbers(w, 'i', x, 4, integers_at), 1;
  case REALSXP:
    return add_numbers(w, 'd', x, 8, doubles_at), 1;
  case CPLXSXP:
    return add_numbers(w, 'c', x, 16, complex_at), 1;
  case RAWSXP:
    return add_numbers(w, 'r', x, 1, raws_at), 1;
  case STRSXP:
    return add_strings(w, x), 1;
  case VECSXP:
    return add_list(w, 'L', x), 1;
  case EXPRSXP:
    return add_list(w, 'X', x), 1;
  case LISTSXP:
    return add_pairs(w, 'P', x), 1;
  case LANGSXP:
    return add_pairs(w, 'C', x), 1;
  case SYMSXP:
    return add_head(w, 'n', 1), add_string(w, PRINTNAME(x)), 1;
  case CLOSXP:
    return add_function(w, x), 1;
  case BUILTINSXP:
  case SPECIALSXP:
    add_head(w, 'p', 1);
    add_object(w, PROTECT(ask("deparse", x)));
    UNPROTECT(1);
    return 1;
  case ENVSXP:
    return add_environment(w, x);
  case S4SXP:
    return add_head(w, 'S', 0), 1;
  default:
    return add_other(w, x), 0;
  }
}

static void add_object(walk *w, SEXP x) {
  R_CheckStack();
  if (add_elements(w, x))
    add_attributes(w, x);
}

static SEXP digest_of(const walk *w) {
  SEXP digest = Rf_allocVector(RAWSXP, 16);
  siphash_end(w->hash, RAW(digest));
  return digest;
}

/* Of an object; `code`: also of one with pointers to memory, any two of which
 * count as the same. */
SEXP C_hash(SEXP x, SEXP code) {
  if (TYPEOF(code) != LGLSXP || XLENGTH(code) != 1)
    Rf_error("`code` must be TRUE or FALSE");
  walk w = {siphash_start(), R_NilValue, 0, Rf_asLogical(code) == 1};
  PROTECT_WITH_INDEX(w.seen, &w.at);
  add_object(&w, x);
  SEXP digest = digest_of(&w);
  UNPROTECT(1);
  return digest;
}

/* Of the bytes of a raw vector, without letter and length. */
SEXP C_checksum(SEXP bytes) {
  if (TYPEOF(bytes) != RAWSXP)
    Rf_error("`bytes` must be a raw vector");
  walk w = {siphash_start(), R_NilValue, 0, 0};
  add(&w, RAW(bytes), (size_t)XLENGTH(bytes));
  return digest_of(&w);
}
