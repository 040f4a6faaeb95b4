# withr puts a kind of generator back only where there was a seed before: without
# one, what a test leaves behind would depend on the files run before it.
if (!exists(".Random.seed", globalenv())) set.seed(NULL)
