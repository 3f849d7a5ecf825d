// SPDX-License-Identifier: Apache-2.0
// Topologies: ranks, and directed links between them, each with a bandwidth and a latency. A link
// can be cut (it is not there) or slowed. Synthetic ones need no such machine: a plan for
// `mesh:8 --cut 0-1` is made, proved and simulated anywhere. docs/topology.md says where the
// numbers come from.
//
// Any thread may ask while no thread cuts, slows or destroys.
#ifndef TERN_TOPO_H
#define TERN_TOPO_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

#define TERN_TOPO_RANKS_MAX 1024         // of a file, and of plans
#define TERN_TOPO_WORD_RANKS_MAX 65536   // of a word that needs no link to be stored
#define TERN_TOPO_USES_MAX 4             // resources of a link
#define TERN_TOPO_RESOURCE_NAME_BYTES 40 // with the end

typedef struct tern_topo tern_topo;

// Ranks on one machine share memory. Ranks of different machines reach each other over the ports of
// their machines: all links of a machine to others share its port, in each direction.
typedef struct tern_topo_machine {
    const char *name;  // valid until the topology is destroyed
    int ranks;         // how many it has
    double port_GBps;  // 10^9 bytes per second, out and in
    double latency_us; // of a message without bytes to or from another machine
} tern_topo_machine;

typedef struct tern_link {
    double bandwidth_GBps; // 10^9 bytes per second, above 0
    double latency_us;     // of a message without bytes, 0 or more
} tern_link;

// What several links share, in one direction: the port of a machine, of a rank or of a host, a bus.
typedef struct tern_topo_resource {
    char name[TERN_TOPO_RESOURCE_NAME_BYTES]; // "a.out": the port of machine a, outwards
    double GBps;                              // 10^9 bytes per second, of all its links together
} tern_topo_resource;

// Makes a topology from a word:
//     mesh:N       every rank has a link to every other, in both directions
//     ring:N       each rank has links to its two neighbours, r-1 and r+1
//     torus:AxB    a grid closed around in both dimensions, or three: torus:AxBxC; the last one is
//                  that of neighbouring ranks
//     cube:D       2^D ranks, each with links to those whose number differs in one bit
//     switch:N     every rank has a link to every other; its links share a port out and one in
//     hosts:HxN    H hosts of N ranks: a mesh inside, slower links between all ranks of different
//                  hosts; rank r is on host r / N. hosts:HxN@R: links between hosts share R GB/s of
//                  each host, out and in
//     machines:HxN H machines of N ranks, each a mesh inside with a port that all its links to
//                  others share; rank r is on machine r / N. machines:1+2+3 has machines of 1, 2
//                  and 3 ranks
//     random:N,S   up to 1024 ranks that all reach each other, about 4 links from each, the same
//                  for the same seed; random:N,S,one-way has links in one direction only
//     this         this machine, one rank per allowed processor; nominal numbers, not measured
//     NAME         a preset (tern_topo_preset)
//     FILE.json    a file, see docs/topology.md
// TERN_ERR_ARG says what is wrong with the word (or, with line and column, with the file) and what
// would be right, TERN_ERR_SYSTEM that the file cannot be read.
TERN_CALL int tern_topo_create(const char *word, tern_topo **topo);

// NULL is allowed.
TERN_API int tern_topo_destroy(tern_topo *topo);

// The forms of words, "mesh:N" and so on, NULL after the last.
TERN_API const char *tern_topo_form(int index);

// "name: what it is" for each preset, NULL after the last.
TERN_API const char *tern_topo_preset(int index);

// Cuts links: "0-1" both directions, "0>1" that one. A link that is not there, or is cut already,
// is TERN_ERR_ARG. A call that fails changes nothing.
TERN_CALL int tern_topo_cut(tern_topo *topo, const char *links);

// Changes bandwidth: "0-1=0.5" or "0>1=0.5" multiplies it by a factor from 1e-6 to 1e6; so must be
// all factors of a link together. Errors as for tern_topo_cut. "NAME=0.5" does so with a resource.
TERN_CALL int tern_topo_slow(tern_topo *topo, const char *links);

// Number of ranks; 0 for NULL.
TERN_API int tern_topo_size(const tern_topo *topo);

// Whether there is a link from one rank to another, and which (`link` may be NULL). A rank has an
// unlimited link to itself. False for ranks that do not exist.
TERN_API bool tern_topo_link(const tern_topo *topo, int from, int to, tern_link *link);

// The number of directed links between different ranks.
TERN_API int64_t tern_topo_link_count(const tern_topo *topo);

// Machines. How many the topology has; 0 when nothing is said of them, and every rank reaches the
// memory of every other.
TERN_API int tern_topo_machine_count(const tern_topo *topo);
// The facts of a machine, by index; false when there is no such machine. `machine` may be NULL.
TERN_API bool tern_topo_get_machine(const tern_topo *topo, int index, tern_topo_machine *machine);
// The machine of a rank, and the rank that is `at` among those of a machine, in ascending order; -1
// when there is none.
TERN_CALL int tern_topo_machine_of(const tern_topo *topo, int rank);
TERN_API int tern_topo_machine_rank(const tern_topo *topo, int index, int at);

// Resources. A link has its own bandwidth, and bytes on it never go faster than that; nor, together
// with the bytes on all other links that use a resource, faster than the resource. How many there
// are; 0: each link is alone. Machine m has 2m (out) and 2m+1 (in).
TERN_API int tern_topo_resource_count(const tern_topo *topo);
// The facts of a resource, by index; false when there is no such one. `resource` may be NULL.
TERN_API bool tern_topo_get_resource(const tern_topo *topo, int index,
                                     tern_topo_resource *resource);
// Which resources bytes from one rank to another use beside the link itself, and how many: 0 when
// there is no link, too. Ports come first, each where bytes leave it before that where they come
// in. `uses` may be NULL.
TERN_API int tern_topo_uses(const tern_topo *topo, int from, int to, int uses[TERN_TOPO_USES_MAX]);

// The word it was made from, with its cuts and slowed links, as a command line takes it: `mesh:8
// --cut 0-1 --cut '2>3' --slow 4-5=0.5`. Quoted for a shell where one needs it, in ascending order,
// the same for the same links. Valid until the topology is changed or destroyed.
TERN_API const char *tern_topo_text(const tern_topo *topo);

TERN_END_DECLS

#endif
