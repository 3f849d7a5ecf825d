// SPDX-License-Identifier: Apache-2.0
// Inside of a topology: a dense matrix of directed links, row = from. What was made is kept apart
// from what was changed (the factor), so that the text can tell both. Set-up path.
#ifndef TERN_TOPO_TOPO_H
#define TERN_TOPO_TOPO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/handle.h"
#include "tern/topo.h"

// What a file or a command may state; beyond it somebody mistook a unit.
#define TERN_TOPO_GBPS_MIN 1e-6
#define TERN_TOPO_GBPS_MAX 1e9
#define TERN_TOPO_US_MAX 1e9
#define TERN_TOPO_FACTOR_MIN 1e-6
#define TERN_TOPO_FACTOR_MAX 1e6
#define TERN_TOPO_NAME_BYTES 32              // of a machine's name, with its end
#define TERN_TOPO_FILE_BYTES_MAX (128 << 20) // 1024 ranks, every link on a line of 128 bytes

struct tern__topo_cell {
    double GBps;       // as made; 0: there never was a link
    double latency_us; // as made
    double factor;     // of the bandwidth: 1 unless slowed, 0 when cut
};

struct tern__topo_pair {
    int low;
    int high;
};

// A machine: ranks that share memory, and a port that all their links to other machines share.
struct tern__topo_machine {
    char name[TERN_TOPO_NAME_BYTES];
    double port_GBps; // in each direction
    double latency_us;
    int first, count; // of its ranks, in topo->machine_ranks
};

struct tern_topo {
    struct tern__handle handle;
    int size;
    int link_count;
    char *word;                    // what it was made from
    char *text;                    // the same with cuts and slowed links
    struct tern__topo_pair *edits; // pairs of ranks ever cut or slowed, ascending
    int edit_count;
    int edit_room;
    struct tern__topo_cell *cells; // size × size
    int machine_count;             // 0: nothing is said of machines
    struct tern__topo_machine *machines;
    int *machine_of;    // per rank
    int *machine_ranks; // machine by machine, ascending in each
};

// hosts × ranks_per_host ranks. Inside a host a mesh (or a ring) of `inside`; between hosts a
// mesh, where a rank has one port of port_GBps, shared evenly by its links to ranks of other hosts.
struct tern__topo_shape {
    int hosts;
    int ranks_per_host;
    bool ring;
    tern_link inside;
    double port_GBps;
    double port_latency_us;
};

// topo.c: makes one without links; of a shape; and what adds a link that is not there yet.
int tern__topo_new(const char *word, int size, tern_topo **topo);
int tern__topo_of_shape(const char *word, const struct tern__topo_shape *shape, tern_topo **topo);
void tern__topo_add(tern_topo *topo, int from, int to, tern_link link);

// machines.c: puts each rank r on machine of[r]; takes name, port and latency of each of `count`
// machines. Between ranks of different machines it adds the links that are not there: at the rate
// of the slower port, with the larger latency.
int tern__topo_set_machines(tern_topo *topo, const struct tern__topo_machine *machines, int count,
                            const int *of);
// A topology of machines, each a mesh of `inside`.
int tern__topo_of_machines(const char *word, int size, const int *of,
                           const struct tern__topo_machine *machines, int count, tern_link inside,
                           tern_topo **topo);
// The name of a machine that has none: "a" to "z", then "m26", ...
void tern__topo_name_machine(struct tern__topo_machine *machine, int index);

static inline struct tern__topo_cell *tern__topo_cell(tern_topo *topo, int from, int to)
{
    return &topo->cells[(size_t)from * (size_t)topo->size + (size_t)to];
}

static inline const struct tern__topo_cell *tern__topo_seen(const tern_topo *topo, int from, int to)
{
    return &topo->cells[(size_t)from * (size_t)topo->size + (size_t)to];
}

// presets.c: the shape of a preset, NULL for no preset; and all names with commas between.
const struct tern__topo_shape *tern__topo_preset_shape(const char *name);
void tern__topo_preset_names(char *names, size_t bytes);

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
