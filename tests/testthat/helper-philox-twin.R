# A twin of the counter-based generator of src/core/numeric/rdist.c:
# Philox4x32-10 (Salmon et al. 2011, doi:10.1145/2063384.2063405), and from its
# words uniforms, normals by the ziggurat (Marsaglia & Tsang 2000,
# doi:10.18637/jss.v005.i08) and gammas (Marsaglia & Tsang 2000,
# doi:10.1145/358407.358414).  A word of 32 bits is a whole number below 2^32.

xor_words <- function(a, b) {
  65536 * bitwXor(a %/% 65536, b %/% 65536) +
    bitwXor(a %% 65536, b %% 65536)
}

# The two words of a product, by 16 bits of b at a time: no sum exceeds 2^53.
word_product <- function(a, b) {
  above <- a * (b %/% 65536)
  below <- (above %% 65536) * 65536 + a * (b %% 65536)
  list(high = above %/% 65536 + below %/% 2^32, low = below %% 2^32)
}

# counter: list of four words (vectors); key: two words.  The four words drawn.
philox_blocks <- function(counter, key) {
  for (round in 1:10) {
    p0 <- word_product(0xD2511F53, counter[[1]])
    p1 <- word_product(0xCD9E8D57, counter[[3]])
    counter <- list(
      xor_words(xor_words(p1$high, counter[[2]]), key[[1]]), p1$low,
      xor_words(xor_words(p0$high, counter[[4]]), key[[2]]), p0$low
    )
    key <- (key + c(0x9E3779B9, 0xBB67AE85)) %% 2^32
  }
  counter
}

# The stream of one (key, item): a function whose calls give pairs of words,
# c(high, low).  The item counts from 0 and is below 2^32; the draw is 0.
philox_stream <- function(key, item, ahead = 64) {
  pairs <- NULL
  used <- blocks <- 0
  function() {
    if (is.null(pairs) || used == ncol(pairs)) {
      block <- blocks + seq_len(ahead) - 1
      zero <- numeric(ahead)
      words <- philox_blocks(list(zero + item, zero, zero, block), key)
      pairs <<- matrix(rbind(words[[1]], words[[2]], words[[3]], words[[4]]), 2)
      used <<- 0
      blocks <<- blocks + ahead
    }
    used <<- used + 1
    pairs[, used]
  }
}

# The midpoint of one of 2^52 cells of (0, 1).
midpoint <- function(pair) {
  (pair[[1]] * 2^20 + pair[[2]] %/% 4096 + 0.5) * 2^-52
}

# The first n of the normals that belong to a key: two of each block.
philox_normals <- function(key, n) {
  block <- seq_len(ceiling(n / 2)) - 1
  zero <- 0 * block
  words <- philox_blocks(list(block, zero, zero, zero), key)
  qnorm(rbind(midpoint(words[1:2]), midpoint(words[3:4])))[seq_len(n)]
}

# 128 layers of equal area under exp(-x^2 / 2); the tail begins at edge[2].
ziggurat_edges <- local({
  edge <- numeric(129)
  edge[[2]] <- 3.4426198558966523
  f <- function(x) exp(-x^2 / 2)
  area <- edge[[2]] * f(edge[[2]]) +
    sqrt(2 * pi) * stats::pnorm(edge[[2]], lower.tail = FALSE)
  edge[[1]] <- area / f(edge[[2]])
  for (i in 2:127) {
    edge[[i + 1]] <- sqrt(-2 * log(f(edge[[i]]) + area / edge[[i]]))
  }
  edge
})

philox_normal <- function(stream) {
  edge <- ziggurat_edges
  f <- function(x) exp(-x^2 / 2)
  repeat {
    pair <- stream()
    layer <- pair[[2]] %% 128 + 1
    sign <- if ((pair[[2]] %/% 128) %% 2 == 1) -1 else 1
    x <- midpoint(pair) * edge[[layer]]
    if (x < edge[[layer + 1]]) {
      return(sign * x)
    }
    if (layer == 1) {
      repeat {
        beyond <- -log(midpoint(stream())) / edge[[2]]
        if (-2 * log(midpoint(stream())) > beyond^2) {
          return(sign * (edge[[2]] + beyond))
        }
      }
    }
    low <- f(edge[[layer]])
    high <- f(edge[[layer + 1]])
    if (low + midpoint(stream()) * (high - low) < f(x)) {
      return(sign * x)
    }
  }
}

# log of a Gamma(shape, 1) variate.
philox_log_gamma <- function(stream, shape) {
  if (shape < 1) {
    boosted <- philox_log_gamma(stream, shape + 1)
    return(boosted + log(midpoint(stream())) / shape)
  }
  d <- shape - 1 / 3
  repeat {
    x <- philox_normal(stream)
    root <- 1 + x / sqrt(9 * d)
    if (root <= 0) next
    v <- root^3
    u <- midpoint(stream())
    if (u < 1 - 0.0331 * x^4 || log(u) < x^2 / 2 + d * (1 - v + log(v))) {
      return(log(d) + log(v))
    }
  }
}

# Variates of one stream: log gammas of the shapes (NA: a uniform in its place).
philox <- function(key, item, shapes) {
  stream <- philox_stream(key, item - 1, min(4 + 2 * length(shapes), 256))
  vapply(shapes, function(shape) {
    if (is.na(shape)) midpoint(stream()) else philox_log_gamma(stream, shape)
  }, 0)
}
