// SPDX-License-Identifier: Apache-2.0
// Inside of a topology. Links are computed from a shape (what words and presets make, of any size)
// or stated one by one in a dense matrix, row = from (what files make). What was changed is kept
// apart as a sparse list of factors, so that the text can tell both. Set-up path.
#ifndef TERN_TOPO_TOPO_H
#define TERN_TOPO_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "tern/topo.h"

// What a file or a command may state; beyond it somebody mistook a unit.
#define TERN_TOPO_GBPS_MIN 1e-6
#define TERN_TOPO_GBPS_MAX 1e9
#define TERN_TOPO_US_MAX 1e9
#define TERN_TOPO_FACTOR_MIN 1e-6
#define TERN_TOPO_FACTOR_MAX 1e6
#define TERN_TOPO_NAME_BYTES 32              // of a machine's name, with its end
#define TERN__TOPO_NAME_SHORT 8              // of one that has none, with its end: "m65535"
#define TERN_TOPO_FILE_BYTES_MAX (128 << 20) // 1024 ranks, every link on a line of 128 bytes

struct tern__topo_cell { // a stated link
    double GBps;         // 0: there is none
    double latency_us;
    uint16_t uses[TERN_TOPO_USES_MAX]; // 1 + number among the stated resources, ascending, then 0
};

#define TERN__TOPO_RESOURCE (-1) // stands for a rank: the edit is that of resource `high`

// What was changed between two ranks: factors of the bandwidth up (low > high in words) and down,
// 1 unless slowed, 0 when cut.
struct tern__topo_edit {
    int low;
    int high;
    double up;
    double down;
};

// A machine: ranks that share memory, and a port that all their links to other machines share.
struct tern__topo_machine {
    char name[TERN_TOPO_NAME_BYTES];
    double port_GBps; // in each direction
    double latency_us;
    int first, count; // of its ranks, in topo->machine_ranks
};

// Links by rule: hosts × ranks_per_host ranks, rank r on host r / ranks_per_host. Inside a host a
// mesh or a torus; between hosts a mesh.
struct tern__topo_shape {
    int hosts;
    int ranks_per_host; // 0: hosts differ
    int *first;         // of hosts that differ: the first rank of each, then the number of ranks
    int dims[16];       // of the torus in a host, the last one fastest
    int dim_count;      // 0: a mesh
    tern_link inside;
    tern_link between;
    bool machines; // a host is a machine: its ranks share memory, other hosts do not reach it
    // Ports as resources, each one out and one in; 0: there is none. Of each rank, for its links
    // inside its host; of each rank, for those to other hosts; of each host, for all links of its
    // ranks to other hosts.
    double rank_port_GBps;
    double nic_port_GBps;
    double host_port_GBps;
};

struct tern_topo {
    struct tern__handle handle;
    int size;
    int64_t link_count;
    char *word;                    // what it was made from
    char *text;                    // the same with cuts and slowed links
    struct tern__topo_edit *edits; // pairs of ranks ever cut or slowed, ascending
    int edit_count;
    int edit_room;
    struct tern__topo_cell *cells; // size × size; NULL: links are those of the shape
    struct tern__topo_shape shape;
    char (*names)[TERN__TOPO_NAME_SHORT]; // of the machines of a shape
    // Stated machines. 0: nothing is said of machines, or the shape says it.
    int machine_count;
    struct tern__topo_machine *machines;
    int *machine_of;    // per rank
    int *machine_ranks; // machine by machine, ascending in each
    // Resources of a file, after the ports of its machines.
    tern_topo_resource *stated;
    int stated_count;
};

static inline struct tern__topo_cell *tern__topo_cell(const tern_topo *topo, int from, int to)
{
    return &topo->cells[(size_t)from * (size_t)topo->size + (size_t)to];
}

// topo.c: makes one without links; of a shape (its `first` is taken over, also when that fails);
// adds a link that is not there yet.
int tern__topo_new(const char *word, int size, tern_topo **topo);
int tern__topo_of_shape(const char *word, const struct tern__topo_shape *shape, tern_topo **topo);
void tern__topo_add(tern_topo *topo, int from, int to, tern_link link);

// shape.c: what a shape says. The host of a rank, and the first rank of a host (of one beyond the
// last: the number of ranks).
int tern__shape_size(const struct tern__topo_shape *shape);
int tern__shape_host(const struct tern__topo_shape *shape, int rank);
int tern__shape_first(const struct tern__topo_shape *shape, int host);
int tern__shape_resource_count(const struct tern__topo_shape *shape);
// false: the name is that of a machine, index / 2 by number, which the shape does not know.
bool tern__shape_resource(const struct tern__topo_shape *shape, int index,
                          tern_topo_resource *resource);
int tern__shape_uses(const struct tern__topo_shape *shape, int from, int to,
                     int uses[TERN_TOPO_USES_MAX]);
bool tern__shape_link(const struct tern__topo_shape *shape, int from, int to, tern_link *link);
int64_t tern__shape_link_count(const struct tern__topo_shape *shape);

// machines.c: puts each rank r on machine of[r]; takes name, port and latency of each of `count`
// machines. Between ranks of different machines it adds the links that are not there: at the rate
// of the slower port, with the larger latency.
int tern__topo_set_machines(tern_topo *topo, const struct tern__topo_machine *machines, int count,
                            const int *of);
// A topology of machines, each a mesh of `inside`.
int tern__topo_of_machines(const char *word, int size, const int *of,
                           const struct tern__topo_machine *machines, int count, tern_link inside,
                           tern_topo **topo);

// random.c: a connected graph of up to TERN_TOPO_RANKS_MAX ranks.
int tern__topo_of_random(const char *word, int size, int seed, bool one_way, tern_link link,
                         tern_topo **topo);

// Adds two to what a link uses.
static inline int tern__topo_add_uses(int uses[TERN_TOPO_USES_MAX], int count, int one, int other)
{
    uses[count] = one;
    uses[count + 1] = other;
    return count + 2;
}

// resource.c: the index of a resource; -1 when there is none of that name.
int tern__topo_resource_index(const tern_topo *topo, const char *name);

// look.c: the link as made, before changes, between different ranks.
bool tern__topo_made(const tern_topo *topo, int from, int to, tern_link *link);
// The factor of a link, or from TERN__TOPO_RESOURCE that of a resource; 1 unless changed.
double tern__topo_factor(const tern_topo *topo, int from, int to);
// Where the edit of a pair stands, or would stand; and whether it does.
int tern__topo_place_of(const tern_topo *topo, int low, int high);
bool tern__topo_stands_at(const tern_topo *topo, int place, int low, int high);
// The name of a machine that has none: "a" to "z", then "m26", ...
void tern__topo_name_machine(char name[TERN__TOPO_NAME_SHORT], int index);

// presets.c: the shape of a preset, NULL for no preset.
const struct tern__topo_shape *tern__topo_preset_shape(const char *name);

// json.c: a topology from the text of a file. text[size] is 0. `name` stands in the sentences and
// becomes the word.
int tern__topo_from_json(const char *name, const char *text, size_t size, tern_topo **topo);

// file.c: a topology from a file.
int tern__topo_from_file(const char *path, tern_topo **topo);

// text.c: makes topo->text anew. TERN_ERR_MEMORY leaves the old one.
int tern__topo_retell(tern_topo *topo);

// number.c: reads at *at and steps over it, or returns false and stays. Whole: digits without sign
// or leading zeros; beyond INT_MAX it is INT_MAX. Number: as in JSON; too large is infinite.
// Neither looks at the locale. `write` gives the shortest text that reads back the same.
bool tern__topo_read_whole(const char **at, int *value);
bool tern__topo_read_number(const char **at, double *value);
void tern__topo_write_number(double value, char text[32]);

#endif
