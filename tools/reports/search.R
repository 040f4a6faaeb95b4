# Starts far from the posterior: the search for the mode, and chains that climb.

quickly <- function(...) {
  mh_sample(..., seed = 1, progress = FALSE)
}

# The highest log density of the draws and whether the chains converged, for a
# regression with the log density -n log s - RSS / (2 s^2).
regression_from_zeros <- function(formula, data, log_density) {
  frame <- model.frame(formula, data)
  x <- model.matrix(formula, frame)
  y <- model.response(frame)
  p <- ncol(x)
  rss <- function(theta) sum((y - x %*% theta[seq_len(p)])^2)
  n <- length(y)
  fit <- quickly(function(theta) log_density(theta, n, rss(theta)),
    c(numeric(p), 1)
  )
  best <- sum(lm.fit(x, y)$residuals^2)
  top <- -n / 2 * log(best / n) - n / 2
  draws <- do.call(rbind, fit)[, "log_density"]
  converged(fit) && max(draws) < top + 1e-6 && min(draws) > top - 60
}

by_wall <- function(theta, n, rss) {
  s <- theta[length(theta)]
  if (s <= 0) {
    return(-Inf)
  }
  -n * log(s) - rss / (2 * s^2)
}

air <- na.omit(airquality)
ozone <- Ozone ~ Solar.R + Wind + Temp

right("airquality from zeros, -Inf where s <= 0", {
  regression_from_zeros(ozone, air, by_wall)
})

right("airquality from zeros, a variance", {
  regression_from_zeros(ozone, air, function(theta, n, rss) {
    v <- theta[length(theta)]
    if (v <= 0) -Inf else -n / 2 * log(v) - rss / (2 * v)
  })
})

right("rock from zeros: areas in thousands", {
  regression_from_zeros(perm ~ area + peri + shape, rock, by_wall)
})

right("trees from zeros", {
  regression_from_zeros(Volume ~ Girth + Height, trees, by_wall)
})

right("Michaelis-Menten from ones: rates of Puromycin", {
  treated <- Puromycin[Puromycin$state == "treated", ]
  fit <- quickly(function(t) {
    if (any(t <= 0)) {
      return(-Inf)
    }
    sum(dnorm(treated$rate, t[1] * treated$conc / (t[2] + treated$conc), t[3],
      log = TRUE
    ))
  }, c(vm = 1, k = 1, s = 1))
  truth <- coef(nls(rate ~ vm * conc / (k + conc), treated,
    start = c(vm = 200, k = 0.1)
  ))
  found <- colMeans(do.call(rbind, fit))[c("vm", "k")]
  converged(fit) && all(abs(found / truth - 1) < 0.1)
})

right("laplace() of an autoregression from zeros", {
  y <- as.numeric(LakeHuron)
  n <- length(y)
  fit <- laplace(function(t) {
    if (t[3] <= 0 || abs(t[2]) >= 1) {
      return(-Inf)
    }
    sum(dnorm(y[-1], t[1] + t[2] * (y[-n] - t[1]), t[3], log = TRUE)) +
      dnorm(y[1], t[1], t[3] / sqrt(1 - t[2]^2), log = TRUE)
  }, c(mu = 0, rho = 0, s = 1), draws = 10, seed = 1, progress = FALSE)
  by_arima <- arima(y, c(1, 0, 0))
  all.equal(unname(coef(fit)), unname(c(
    rev(coef(by_arima)), sqrt(by_arima$sigma2)
  )), tolerance = 1e-3)
})

right("chains that start 300 deviations away adapt to the density", {
  fit <- quickly(function(x) -sum(x^2) / 2, numeric(5),
    inits = rep(list(rep(300, 5), rep(-300, 5)), 2)
  )
  converged(fit) && all(abs(colMeans(do.call(rbind, fit))[1:5]) < 0.2)
})

told("a density without a peak says so", {
  print(quickly(function(x) if (all(abs(x) < 5)) 0 else -Inf, c(0.5, 0.5),
    draws = 100
  ))
}, "the density has no peak")
