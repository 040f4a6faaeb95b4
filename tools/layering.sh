#!/bin/sh
# tools/layering.sh SRC: the rules of the C layers, on the sources in SRC.
#   1. src/core includes the C library, vector instructions, Rmath, BLAS, LAPACK,
#      OpenMP and its own headers, and nothing else.  Its headers are named with
#      their folder.  numeric includes numeric alone; run also run; the folder of
#      a model also its own, and never that of another model
#   2. src/core names no SEXP and no routine that stops, warns or prints in R
#   3. no C function is longer than 60 lines
#   4. Makevars and Makevars.win list every source, and nothing else
#   5. every source of src/core includes rounding.h before anything else
#   6. no two sources use each other's functions and values, directly or through
#      others, where a source and its header are one; nor do headers include
#      each other.  Types of another's header do not count
# Comments and strings do not count.  Prints file:line: reason; fails on any.
set -eu
src=${1:-src}
status=0

awk -v src="$src" '
  function complain(line, reason) {
    print FILENAME ":" line ": " reason
    bad = 1
  }

  # the line without comments and without what strings and characters hold
  function bare(text,    out, i, c, two) {
    out = ""
    for (i = 1; i <= length(text); i++) {
      c = substr(text, i, 1)
      two = substr(text, i, 2)
      if (in_comment) {
        if (two == "*/") { in_comment = 0; i++; out = out " " }
      } else if (quote != "") {
        if (c == "\\") i++
        else if (c == quote) { quote = ""; out = out c }
      } else if (two == "/*") { in_comment = 1; i++ }
      else if (two == "//") break
      else {
        if (c == "\"" || c == "\047") quote = c
        out = out c
      }
    }
    quote = ""
    return out
  }

  # numeric, run, or a model, of src/core/<folder>/file and "<folder>/file"
  function folder_of(path) {
    sub("^" src "/core/", "", path)
    sub("/.*", "", path)
    return path
  }

  function check_folder(name,    own, other) {
    own = folder_of(FILENAME)
    other = folder_of(name)
    if (own != other && other != "numeric" &&
        (own == "numeric" || other != "run"))
      complain(FNR, "core/" own " may not include " name)
  }

  function check_include(text,    name) {
    name = text
    sub(/^[ \t]*#[ \t]*(include|define LANES_KERNEL)[ \t]*/, "", name)
    sub(/[ \t]*$/, "", name)
    # by a name whose definition is checked in its place
    if (name == "LANES_KERNEL") return
    if (name ~ /^"[a-z0-9_]+(\/[a-z0-9_]+)?[.]h"$/) {
      gsub(/"/, "", name)
      if (!((src "/core/" name) in known))
        complain(FNR, "the core includes " name ", which is not of the core")
      else check_folder(name)
    } else if (name !~ allowed)
      complain(FNR, "the core may not include " name)
  }

  function check_words(text,    i, n, words) {
    n = split(text, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= n; i++)
      if (words[i] in forbidden || words[i] ~ /^Rf_/)
        complain(FNR, "the core may not use " words[i])
  }

  # src/core/mh/mh.c and mh.h are both "core/mh/mh"
  function unit(path) {
    sub("^" src "/", "", path)
    sub(/[.][ch]$/, "", path)
    return path
  }

  # unit `from` needs unit `to`, because of `what`
  function add_need(from, to, what) {
    units[from]
    units[to]
    if (from != to && !((from, to) in need)) need[from, to] = what
  }

  # kernels are a part of what is compiled with them
  function note_include(text,    path) {
    if (text !~ /^[ \t]*#[ \t]*(include|define LANES_KERNEL)[ \t]*"/) return
    kernel = text ~ /LANES_KERNEL/
    sub(/^[^"]*"/, "", text)
    sub(/".*/, "", text)
    path = (src "/" text) in known ? src "/" text : src "/core/" text
    if (!(path in known)) return
    if (kernel) part_of[unit(path)] = unit(FILENAME)
    else if (FILENAME ~ /[.]h$/) add_need(FILENAME, path, "includes " text)
  }

  # `text`: what stands before the brace of a function or of a value
  function note_definition(text,    name) {
    if (!match(text, /[A-Za-z_][A-Za-z0-9_]*[ \t]*(\(|(\[[^]]*\])?[ \t]*=)/))
      return
    name = substr(text, RSTART, RLENGTH)
    sub(/[^A-Za-z0-9_].*/, "", name)
    if (text ~ /(^|[^A-Za-z0-9_])static[^A-Za-z0-9_]/ && FILENAME ~ /[.]c$/)
      hidden[unit(FILENAME), name]
    else home[name] = unit(FILENAME)
  }

  function note_words(text,    i, n, words) {
    n = split(text, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= n; i++)
      if (words[i] ~ /^[A-Za-z]/) named[unit(FILENAME), words[i]]
  }

  function whole_of(name) { return name in part_of ? part_of[name] : name }

  function complain_of_circles(    pair, i, j, k, circle) {
    for (pair in named) {
      split(pair, part, SUBSEP)
      if ((part[2] in home) && !(pair in hidden))
        add_need(whole_of(part[1]), whole_of(home[part[2]]), part[2])
    }
    for (pair in need) reach[pair]
    for (k in units)
      for (i in units)
        if ((i, k) in reach)
          for (j in units)
            if ((k, j) in reach) reach[i, j]
    for (pair in need) {
      split(pair, part, SUBSEP)
      if ((part[2], part[1]) in reach) {
        print "a circle of sources: " part[1] " -> " part[2] ": " need[pair]
        bad = 1
      }
    }
  }

  # A function runs from the first line of its declaration to the brace that
  # closes it; at depth 0 a brace that follows ")" opens one.
  function measure(text,    i, c) {
    if (depth == 0 && start == 0 && text ~ /[^ \t]/) start = FNR
    for (i = 1; i <= length(text); i++) {
      c = substr(text, i, 1)
      if (depth == 0) declared = c == ";" ? "" : declared c
      if (c == " " || c == "\t") continue
      if (c == "{") {
        if (depth++ == 0) {
          is_function = (last == ")")
          note_definition(declared)
        }
      } else if (c == "}") {
        if (--depth == 0) {
          if (is_function && FNR - start + 1 > longest)
            complain(start, "a function of " FNR - start + 1 " lines, over " \
              longest)
          start = 0
          declared = ""
        }
      } else if (c == ";" && depth == 0) start = 0
      else if (depth == 0 && start == 0) start = FNR
      last = c
    }
  }

  BEGIN {
    longest = 60
    allowed = "^<((assert|complex|ctype|errno|fenv|float|immintrin|arm_neon|inttypes|" \
      "limits|math|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdlib|" \
      "string|tgmath|omp|Rmath)[.]h|R_ext/(BLAS|Lapack|Random)[.]h)>$"
    n = split("SEXP SEXPREC error warning Rprintf REprintf R_CheckUserInterrupt " \
      "R_alloc R_CheckStack UNPROTECT PROTECT printf fprintf abort exit rand " \
      "srand longjmp GetRNGstate PutRNGstate", list, " ")
    for (i = 1; i <= n; i++) forbidden[list[i]]
    for (i = 1; i < ARGC; i++) known[ARGV[i]]
  }

  FNR == 1 {
    in_comment = depth = start = in_macro = includes = 0
    quote = last = declared = ""
    in_core = index(FILENAME, src "/core/") == 1
  }

  {
    raw = $0
    text = bare(raw)
    directive = in_macro || text ~ /^[ \t]*#/
    if (in_core) {
      if (text ~ /^[ \t]*#[ \t]*include/) {
        sub(/[ \t]*\/[*].*/, "", raw)
        check_include(raw)
        if (++includes == 1 && FILENAME ~ /[.]c$/ && raw !~ /"numeric\/rounding[.]h"$/)
          complain(FNR, "the core includes rounding.h first")
      } else if (text ~ /^#define LANES_KERNEL/) check_include(raw)
      else check_words(text)
    }
    in_macro = directive && raw ~ /\\$/
    note_include($0)
    # a declaration is no use
    outside = depth == 0
    if (!directive) {
      measure(text)
      declared = declared " "
    }
    if (directive || !outside || text ~ /[{]/) note_words(text)
  }

  END {
    complain_of_circles()
    exit bad
  }
' "$src"/*.[ch] "$src"/core/*/*.[ch] || status=1

for file in "$src"/core/*.[ch]; do
  if [ -f "$file" ]; then
    echo "$file: a source of the core stands in a folder"
    status=1
  fi
done

listed=$(mktemp)
trap 'rm -f "$listed"' EXIT
for makevars in "$src/Makevars" "$src/Makevars.win"; do
  tr ' \\' '\n\n' <"$makevars" | sed -n '/[.]o$/p' >"$listed"
  for source in "$src"/*.c "$src"/core/*/*.c; do
    object=${source#"$src"/}
    object=${object%.c}.o
    if ! grep -qxF "$object" "$listed"; then
      echo "$makevars: $object is not listed"
      status=1
    fi
  done
  while read -r object; do
    if [ ! -f "$src/${object%.o}.c" ]; then
      echo "$makevars: $object has no source"
      status=1
    fi
  done <"$listed"
done

exit "$status"
