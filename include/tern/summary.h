// SPDX-License-Identifier: Apache-2.0
// What a plan costs on a topology, and how far that is from the least that any plan could cost
// there: rounds, ops, bytes on each directed link, scratch, and a lower bound with the reason for
// it. Times are bytes over bandwidth alone; start-up is the rounds' business.
#ifndef TERN_SUMMARY_H
#define TERN_SUMMARY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tern/plan.h"
#include "tern/topo.h"

TERN_BEGIN_DECLS

// Up to this many ranks the lower bound is the best over all sets (and partitions) of ranks; above,
// over single ranks and the sum of all links. Machines, and parts between which resources lie, are
// taken as ranks likewise.
#define TERN_SUMMARY_EXACT_RANKS 12

#define TERN_SUMMARY_PORTS 16 // machines whose ports are listed: the first ones

// What crosses the port of a machine.
typedef struct tern_summary_port {
    char machine[32];
    int ranks;
    uint64_t out_bytes, in_bytes;
    double us; // what the larger of the two takes
} tern_summary_port;

// What crosses a resource.
typedef struct tern_summary_resource {
    char name[TERN_TOPO_RESOURCE_NAME_BYTES];
    uint64_t bytes;
    double us; // what they take
} tern_summary_resource;

typedef struct tern_summary {
    tern_plan_spec spec; // of the plan, which must outlive the algorithm's name in it
    int rounds;
    size_t ops, copies, reduces, posts, waits;
    size_t missing; // reads, writes and posts over links that do not exist: a plan that cannot run
    uint64_t scratch_bytes; // of every rank

    int links;                    // directed, between different ranks
    uint64_t link_bytes;          // over all links
    uint64_t busiest_bytes;       // on the link whose bytes take longest,
    int busiest_from, busiest_to; // which is this one
    double mean_bytes;            // link_bytes / links

    double busiest_us;    // what the busiest link takes
    double estimate_us;   // start-up of all rounds, and the busiest lanes and links
    double bound_us;      // no plan for this kind and size takes less; 0 where no bytes need cross
    double reached;       // bound_us / busiest_us, or that of a busier resource; 1 when both are 0
    char bound_text[160]; // why: "all ranks apart: 14 crossings share 54 links"

    int machines; // 0: the topology says nothing of machines
    tern_summary_port ports[TERN_SUMMARY_PORTS];
    tern_summary_port busiest_port; // the one whose bytes take longest

    int resources;                          // ports among them; 0: each link is alone
    tern_summary_resource busiest_resource; // the one whose bytes take longest
} tern_summary;

// topo NULL: every link exists and has 1 GB/s without latency. TERN_ERR_ARG for an unsealed plan
// and for a topology with another number of ranks; TERN_ERR_MEMORY.
TERN_CALL int tern_summary_make(const tern_plan *plan, const tern_topo *topo,
                                tern_summary *summary);

// A few lines for people.
TERN_CALL int tern_summary_print(const tern_summary *summary, FILE *file);

TERN_END_DECLS

#endif
