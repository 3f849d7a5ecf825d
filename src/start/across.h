// SPDX-License-Identifier: Apache-2.0
// What is known of a job before it is joined.
#ifndef TERN_START_ACROSS_H
#define TERN_START_ACROSS_H

enum tern__across {
    TERN__ACROSS_NOT,    // nothing says that it has several machines
    TERN__ACROSS_BY_RUN, // `tern run --hosts` says so
    TERN__ACROSS_BY_MPI, // an MPI's launcher, or srun
};

// Whether what has started this process says that its job has several machines.
enum tern__across tern__start_across(void);

#endif
