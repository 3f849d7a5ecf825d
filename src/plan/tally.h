// SPDX-License-Identifier: Apache-2.0
// What the transfers of a plan put on each directed link, counted op by op, and the time that takes
// in the alpha-beta model (docs: collectives, Hockney 1994). Used on sealed plans by the summary,
// and on plans that are not even stored by the selection of an algorithm.
#ifndef TERN_PLAN_TALLY_H
#define TERN_PLAN_TALLY_H

#include "tern/plan.h"
#include "tern/topo.h"

#define TERN__TALLY_ROUNDS 64

// All matrices are [from * nranks + to].
struct tern__tally {
    int nranks;
    double *us_per_byte; // 0 where there is no link
    double *latency_us;  // below 0 where there is no link
    uint64_t *bytes;     // on each link
    // Of each resource: what crosses it, in all and in each of the first TERN__TALLY_ROUNDS rounds,
    // [round * resources + index]; in the last of them also what comes later.
    const tern_topo *topo;
    int machines;
    int resources;
    double *resource_GBps;
    uint64_t *resource_bytes;
    uint64_t *round_bytes;
    // Between machines: puts of the lane and round at hand to the rank that its first one went to;
    // the most there were: in so many pieces the plan sends what it sends.
    int first_put, puts, pieces;
    size_t messages; // posts to other machines: with the copies before them, what is sent
    // Of each round: how long the busiest lane works in it, and the longest start-up.
    double *round_work_us;
    double *round_latency_us;
    int rounds;
    size_t copies, reduces, posts, waits;
    size_t missing; // operands and posts over links that are not there
    // The lane and round whose work is being added up.
    int rank, lane, round;
    double work_us;
};

// topo NULL: every link exists, 1 GB/s without latency.
int tern__tally_create(int nranks, const tern_topo *topo, struct tern__tally *tally);
void tern__tally_destroy(struct tern__tally *tally);

// Back to nothing counted.
void tern__tally_clear(struct tern__tally *tally);

// Counts an op. Ops of one lane and round are taken to run one after the other; they come in a row.
void tern__tally_op(struct tern__tally *tally, int rank, int lane, const tern_plan_op *op);

// The link whose bytes take longest.
void tern__tally_busiest(const struct tern__tally *tally, int *from, int *to);

// What a resource takes for what crosses it, and among the first `count` the one that takes longest
// (0 when there are none).
double tern__tally_resource_us(const struct tern__tally *tally, int index);
int tern__tally_busiest_resource(const struct tern__tally *tally, int count);

// Estimated time: start-up of every round, and the largest of what the busiest link carries in all,
// what the busiest resource of each round carries in it, and what the busiest lanes do round by
// round. What crosses between machines goes on while its lane does something else: there what the
// rounds cannot do at the same time counts for the first piece of each only. A message costs its
// machine some time, whatever is in it.
double tern__tally_time_us(struct tern__tally *tally);

#endif
