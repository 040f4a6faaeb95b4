/* How many threads a sweep may use.  libgomp does not survive a fork: a
 * parallel region in a child of a process that ran one waits for ever.  So a
 * forked child (parallel::mclapply, future::multicore) runs on one thread;
 * draws do not depend on it. */
#ifndef GIBBSITE_THREADS_H
#define GIBBSITE_THREADS_H

void threads_watch_forks(void);
int threads_in_child(void);
int threads_allowed(int requested);

#endif
