// SPDX-License-Identifier: Apache-2.0
// What the cases of this example share: tables of functions and cases, short forms of arguments,
// and words of a domain that kernels notify each other by.
#ifndef NODE_KIT_H
#define NODE_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"
#include "tern/node.h"

#define WORDS_BYTES 256 // at the beginning of a domain, for signals
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_status = (call);                                                                   \
        if (try_status < 0) {                                                                      \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

// Of each file: what its chips are asked for, and its cases.
struct functions {
    const tern_node_function *list;
    int count;
};
extern const struct functions dispatch_functions, domains_functions, notify_functions;

// Runs on the host; 0, a status, or 1 when a value is not the expected one, which it has printed.
typedef int (*case_body)(tern_node *node);
int multi_chip_dispatch(tern_node *node);
int child_memory(tern_node *node);
int message_queue(tern_node *node);
int orch_comm_stream(tern_node *node);
int allreduce(tern_node *node);
int dual_domain_overlap(tern_node *node);
int domain_rank_map(tern_node *node);
int ffn_tp_parallel(tern_node *node);
int async_completion(tern_node *node);
int async_notify(tern_node *node);
int deferred_notify(tern_node *node);

// `count` f32 at an address; NULL for an output that gets its memory later.
int floats(tern_region *region, void *address, uint32_t count);

static inline tern_task_arg arg(tern_access access, tern_region *region)
{
    return (tern_task_arg){.access = access, .region = region};
}

static inline tern_task_arg number(uint64_t value)
{
    return (tern_task_arg){.access = TERN_SCALAR, .scalar = value};
}

// For kernels: a region's data, and what a member of a context's domain has at an offset.
float *data_of(int64_t arg);
uint64_t count_of(int64_t arg);
void *at(const tern_context *context, uint32_t rank, size_t offset_bytes);

// Copies to and from what a member has, which may be on another machine, where no pointer leads.
int put(void *there, const void *here, size_t size_bytes);
int get(const void *there, void *here, size_t size_bytes);

// Adds 1 to a word of a domain; waits until the own one is `value` at least.
int notify(void *word);
int await_word(void *word, int32_t value);

// A kernel reports what did not work.
void kernel_status(int status);

// All members come here for the n-th time, n from 1 on: each has a word at each other.
int meet(const tern_context *context, int32_t n);

// Whether a member's f32 at `offset` are what `expected` says; the first wrong one is printed.
bool verify(const char *name, tern_domain *domain, int member, size_t offset_bytes, int count,
            float tolerance, float (*expected)(int member, int i));

#endif
