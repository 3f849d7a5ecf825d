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
    // Of each machine, where there are machines: what crosses its port, out and in.
    const tern_topo *topo;
    int machines;
    uint64_t *port_bytes;  // out of machine m at 2 * m, into it at 2 * m + 1
    uint64_t *round_ports; // likewise, of each of the first TERN__TALLY_ROUNDS rounds; of the last
                           // of them also what comes later
    // Puts of the lane and round at hand to the rank that its first one went to; the most there
    // were: in so many pieces the plan sends what it sends.
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

// What the port of a machine takes for what crosses it, and the one that takes longest.
double tern__tally_port_us(const struct tern__tally *tally, int machine);
int tern__tally_busiest_port(const struct tern__tally *tally);

// Where there are machines: what crosses between them goes on while its lane does, so the busiest
// port decides, and what its rounds cannot do at the same time for the first piece of each.
// A message costs its machine some time, whatever is in it.
// Estimated time: start-up of every round, and the largest of what the busiest link and the
// busiest port carry in all and what the busiest lanes do round by round.
double tern__tally_time_us(struct tern__tally *tally);

#endif
