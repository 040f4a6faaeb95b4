# Rscript bench/seeds.R [DOCUMENTS [SEEDS]]: seeded topics on 20 Newsgroups.
#
# The share of documents whose topic is their group: predict(type = "class") of
# a fit with a few words for each group, for several weights of the seeds,
# beside a fit without seeds whose topics are matched to the groups by the best
# assignment (which sees the groups). The words were written from the groups'
# names. Terms in fewer than 5 documents or in more than a tenth of them are
# left out. DOCUMENTS: a random part of the documents (default all); SEEDS: how
# many seeds (default 1).
#
# The counts are newsgroups20_train.rds in the folder GIBBSITE_BENCH_DATA; terms
# and groups come from the source package lda on CRAN.
suppressPackageStartupMessages({
  library(gibbsite)
  library(Matrix)
})

arguments <- as.numeric(commandArgs(trailingOnly = TRUE))
self <- grep("^--file=", commandArgs(), value = TRUE)
here <- dirname(sub("^--file=", "", self))
source(file.path(here, "data.R"))

words <- list(
  alt.atheism = c("atheism", "atheist", "atheists"),
  comp.graphics = c("graphics", "image", "polygon"),
  comp.os.ms.windows.misc = c("windows", "dos", "microsoft"),
  comp.sys.ibm.pc.hardware = c("ide", "bios", "motherboard"),
  comp.sys.mac.hardware = c("mac", "apple", "quadra"),
  comp.windows.x = c("motif", "xterm", "widget"),
  misc.forsale = c("sale", "shipping", "offer"),
  rec.autos = c("car", "cars", "engine"),
  rec.motorcycles = c("bike", "motorcycle", "helmet"),
  rec.sport.baseball = c("baseball", "pitcher", "inning"),
  rec.sport.hockey = c("hockey", "nhl", "goalie"),
  sci.crypt = c("encryption", "clipper", "cryptography"),
  sci.electronics = c("circuit", "voltage", "electronics"),
  sci.med = c("patients", "disease", "doctor"),
  sci.space = c("space", "nasa", "orbit"),
  soc.religion.christian = c("christ", "church", "jesus"),
  talk.politics.guns = c("gun", "guns", "firearms"),
  talk.politics.mideast = c("israel", "arab", "armenian"),
  talk.politics.misc = c("president", "clinton", "government"),
  talk.religion.misc = c("religion", "bible", "mormon")
)

labelled_newsgroups <- function() {
  x <- newsgroups()
  if (is.null(x)) quit()
  all <- utils::available.packages(filters = list())
  folder <- tempdir()
  package <- utils::download.packages(
    "lda", folder, type = "source", quiet = TRUE,
    available = all[rownames(all) == "lda", , drop = FALSE]
  )
  utils::untar(package[[2L]], exdir = folder)
  read <- function(name) {
    found <- new.env()
    load(file.path(folder, "lda", "data", paste0(name, ".rda")), found)
    found[[name]]
  }
  dimnames(x) <- list(seq_len(nrow(x)), read("newsgroup.vocab"))
  groups <- read("newsgroup.label.map")
  labels <- read("newsgroup.train.labels")
  list(x = x, group = make.names(as.character(groups$V1)[labels]))
}

data <- labelled_newsgroups()
if (length(arguments) > 0L && arguments[[1L]] < nrow(data$x)) {
  set.seed(1)
  some <- sort(sample(nrow(data$x), arguments[[1L]]))
  data <- list(x = data$x[some, ], group = data$group[some])
}
holds <- Matrix::colSums(data$x > 0)
x <- data$x[, holds >= 5 & holds <= nrow(data$x) / 10]
full <- Matrix::rowSums(x) > 0
x <- x[full, ]
group <- factor(data$group[full], names(words))
stopifnot(!anyNA(group))
cat(nrow(x), "documents,", ncol(x), "terms,", sum(x), "tokens\n")

fitted_classes <- function(prior, seed) {
  predict(suppressWarnings(suppressMessages(gibbs_lda(
    x, 20, prior, draws = 100, burnin = 200, chains = 1, seed = seed,
    progress = FALSE
  ))), type = "class")
}

seeds <- seq_len(if (length(arguments) > 1L) arguments[[2L]] else 1)
for (seed in seeds) {
  for (weight in c(0, 0.001, 0.003, 0.01, 0.03, 0.1)) {
    prior <- if (weight > 0) {
      lda_prior(eta = seeded_topics(words, weight))
    } else {
      lda_prior()
    }
    seconds <- system.time(class <- fitted_classes(prior, seed))[[3L]]
    both <- table(factor(class, if (weight > 0) names(words) else 1:20), group)
    right <- if (weight > 0) {
      diag(both)
    } else {
      both[cbind(1:20, as.integer(clue::solve_LSAP(both, maximum = TRUE)))]
    }
    cat(sprintf(
      "seed %d  %-24s share right %.3f  %5.1f s\n", seed,
      if (weight > 0) paste("weight", weight) else "unseeded, best match",
      sum(right) / nrow(x), seconds
    ))
  }
}
