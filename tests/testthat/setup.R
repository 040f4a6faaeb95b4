# withr puts a kind of generator back only where there was a seed before.
if (!exists(".Random.seed", globalenv())) set.seed(NULL)
