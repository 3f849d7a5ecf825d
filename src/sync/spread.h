// SPDX-License-Identifier: Apache-2.0
// Where ranks begin. Threads that hand the processor to each other thousands of times a
// millisecond always look as if they had just run there, so the kernel is slow to move one to a
// processor that is idle: with 4 ranks on 2 processors all may stay on one of them for tenths of a
// second, and a barrier takes 5.5 us instead of 2.6. Likewise the cores of chips (graph/core.c).
#ifndef TERN_SYNC_SPREAD_H
#define TERN_SYNC_SPREAD_H

// Moves the calling thread, the index-th of `count` like it, to the processor of its own on which
// it leaves all equally loaded; it may run on all of them as before, and the kernel moves it as
// before. Does nothing when there are fewer threads than processors (the kernel knows better which
// of those share a core), or when the thread is bound to one.
void tern__spread(int index, int count);

// The same, to this one, if it is one of its own.
void tern__spread_to(int cpu);

#endif
