// SPDX-License-Identifier: Apache-2.0
// From a word to a topology. Words are read strictly: what is not exactly one of the forms is
// refused with what would be right. The synthetic forms have round numbers;
// docs/topology.md says whence.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/public.h"
#include "base/error.h"
#include "topo/topo.h"

static const tern_link synthetic_link = {.bandwidth_GBps = 25, .latency_us = 2};
#define SYNTHETIC_PORT_GBPS 20
#define SYNTHETIC_PORT_LATENCY_US 8

// Machines on a network: the rate of 1 Gbit/s Ethernet, and what a message takes there.
#define SYNTHETIC_NETWORK_GBPS 0.125
#define SYNTHETIC_NETWORK_LATENCY_US 100

// This machine, not measured: a processor copies about 10 GB/s whomever it copies to, and a word
// gets from one rank to another and is seen in about 0.25 us.
#define THIS_PORT_GBPS 10
#define THIS_LATENCY_US 0.25

static bool ends_with(const char *word, const char *end)
{
    size_t length = strlen(word);
    return length >= strlen(end) && strcmp(word + length - strlen(end), end) == 0;
}

static int check_size(const char *word, int hosts, int ranks_per_host)
{
    if (hosts < 1 || ranks_per_host < 1) {
        return tern__fail(TERN_ERR_ARG, "'%.100s' has no ranks; from 1 to %d are possible", word,
                          TERN_TOPO_WORD_RANKS_MAX);
    }
    if (hosts > TERN_TOPO_WORD_RANKS_MAX / ranks_per_host) {
        return tern__fail(TERN_ERR_ARG, "'%.100s' has too many ranks; from 1 to %d are possible",
                          word, TERN_TOPO_WORD_RANKS_MAX);
    }
    return TERN_OK;
}

// What is wrong with a word whose beginning is known.
static int wrong(const char *word, const char *must_follow)
{
    return tern__fail(TERN_ERR_ARG, "'%.100s': %s, and nothing else", word, must_follow);
}

static int read_size(const char *word, const char *at, const char *must_follow,
                     struct tern__topo_shape *shape)
{
    if (!tern__topo_read_whole(&at, &shape->ranks_per_host) || *at != '\0') {
        return wrong(word, must_follow);
    }
    return check_size(word, 1, shape->ranks_per_host);
}

static int create_mesh(const char *word, const char *at, tern_topo **topo)
{
    struct tern__topo_shape shape = {.hosts = 1, .inside = synthetic_link};
    TERN_TRY(read_size(word, at, "a number of ranks must follow 'mesh:', as in mesh:8", &shape));
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_ring(const char *word, const char *at, tern_topo **topo)
{
    struct tern__topo_shape shape = {.hosts = 1, .dim_count = 1, .inside = synthetic_link};
    TERN_TRY(read_size(word, at, "a number of ranks must follow 'ring:', as in ring:8", &shape));
    shape.dims[0] = shape.ranks_per_host;
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_switch(const char *word, const char *at, tern_topo **topo)
{
    struct tern__topo_shape shape = {.hosts = 1,
                                     .inside = synthetic_link,
                                     .rank_port_GBps = synthetic_link.bandwidth_GBps};
    TERN_TRY(
        read_size(word, at, "a number of ranks must follow 'switch:', as in switch:8", &shape));
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_torus(const char *word, const char *at, tern_topo **topo)
{
    static const char sizes[] =
        "two or three sizes must follow 'torus:', as in torus:4x4 or torus:2x3x4";
    struct tern__topo_shape shape = {.hosts = 1, .ranks_per_host = 1, .inside = synthetic_link};
    do {
        int *size = &shape.dims[shape.dim_count];
        if (shape.dim_count == 3 || !tern__topo_read_whole(&at, size)) {
            return wrong(word, sizes);
        }
        TERN_TRY(check_size(word, shape.ranks_per_host, *size));
        shape.ranks_per_host *= *size;
        shape.dim_count++;
    } while (*at++ == 'x');
    return at[-1] == '\0' && shape.dim_count > 1 ? tern__topo_of_shape(word, &shape, topo)
                                                 : wrong(word, sizes);
}

// A torus of two in each dimension.
static int create_cube(const char *word, const char *at, tern_topo **topo)
{
    struct tern__topo_shape shape = {.hosts = 1, .ranks_per_host = 1, .inside = synthetic_link};
    int dims;
    if (!tern__topo_read_whole(&at, &dims) || *at != '\0') {
        return wrong(word, "a number of dimensions must follow 'cube:', as in cube:3 (8 ranks)");
    }
    if (dims == 0) {
        return tern__topo_of_shape(word, &shape, topo); // a mesh of one rank
    }
    for (; shape.dim_count < dims; shape.ranks_per_host *= 2) {
        TERN_TRY(check_size(word, 2, shape.ranks_per_host));
        shape.dims[shape.dim_count++] = 2;
    }
    return tern__topo_of_shape(word, &shape, topo);
}

// What a link between hosts gets of a rank's port that all such links share evenly.
static tern_link even_share(const struct tern__topo_shape *shape, double port_GBps,
                            double latency_us)
{
    int remote = (shape->hosts - 1) * shape->ranks_per_host;
    return (tern_link){remote > 0 ? port_GBps / remote : 0, latency_us};
}

static int create_hosts(const char *word, const char *at, tern_topo **topo)
{
    static const char hosts[] =
        "hosts and ranks of each must follow 'hosts:', as in hosts:2x8 (2 hosts of 8 ranks) or "
        "hosts:2x8@50 (all links between hosts share 50 GB/s of each host, out and in)";
    struct tern__topo_shape shape = {.inside = synthetic_link};
    if (!tern__topo_read_whole(&at, &shape.hosts) || *at++ != 'x' ||
        !tern__topo_read_whole(&at, &shape.ranks_per_host)) {
        return wrong(word, hosts);
    }
    bool uplink = *at == '@';
    double GBps = 0;
    at += uplink;
    if ((uplink && !tern__topo_read_number(&at, &GBps)) || *at != '\0') {
        return wrong(word, hosts);
    }
    TERN_TRY(check_size(word, shape.hosts, shape.ranks_per_host));
    if (!uplink) {
        shape.between = even_share(&shape, SYNTHETIC_PORT_GBPS, SYNTHETIC_PORT_LATENCY_US);
    } else if (GBps >= TERN_TOPO_GBPS_MIN && GBps <= TERN_TOPO_GBPS_MAX) {
        shape.between = (tern_link){GBps, SYNTHETIC_PORT_LATENCY_US};
        shape.host_port_GBps = GBps;
    } else {
        return tern__fail(TERN_ERR_ARG, "'%.100s': what hosts share must be from %g to %g GB/s",
                          word, TERN_TOPO_GBPS_MIN, TERN_TOPO_GBPS_MAX);
    }
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_random(const char *word, const char *at, tern_topo **topo)
{
    int size;
    int seed;
    if (!tern__topo_read_whole(&at, &size) || *at++ != ',' || !tern__topo_read_whole(&at, &seed) ||
        (*at != '\0' && strcmp(at, ",one-way") != 0)) {
        return wrong(word, "ranks and a seed must follow 'random:', as in random:8,1 or "
                           "random:8,1,one-way (links in one direction only)");
    }
    if (size < 1 || size > TERN_TOPO_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "'%.100s': a random topology has from 1 to %d ranks", word,
                          TERN_TOPO_RANKS_MAX);
    }
    if (seed == INT_MAX) {
        return tern__fail(TERN_ERR_ARG, "'%.100s': the seed must be from 0 to %d", word,
                          INT_MAX - 1);
    }
    return tern__topo_of_random(word, size, seed, *at != '\0', synthetic_link, topo);
}

static int machines_wrong(const char *word)
{
    return wrong(word, "machines and ranks of each must follow 'machines:', as in machines:2x4 (2 "
                       "machines of 4 ranks) or machines:1+2+3 (3 machines of 1, 2 and 3 ranks)");
}

// "1+2+3": the first rank of each machine, and the number of ranks. `at` is behind the colon.
static int read_sizes(const char *word, const char *at, struct tern__topo_shape *shape)
{
    int ranks = 0;
    for (int m = 0;; m++, at++) {
        int each;
        if (!tern__topo_read_whole(&at, &each)) {
            return machines_wrong(word);
        }
        TERN_TRY(check_size(word, 1, each));
        TERN_TRY(check_size(word, 1, ranks + each));
        ranks += each;
        shape->first[m + 1] = ranks;
        if (*at != '+') {
            return *at == '\0' ? TERN_OK : machines_wrong(word);
        }
    }
}

static int read_machines(const char *word, const char *at, struct tern__topo_shape *shape)
{
    const char *behind = at;
    if (tern__topo_read_whole(&behind, &shape->hosts) && *behind == 'x') {
        behind++;
        if (!tern__topo_read_whole(&behind, &shape->ranks_per_host) || *behind != '\0') {
            return machines_wrong(word);
        }
        return check_size(word, shape->hosts, shape->ranks_per_host);
    }
    size_t hosts = 1;
    for (const char *plus = at; (plus = strchr(plus, '+')) != NULL; plus++) {
        hosts++;
    }
    // No more than a word of as many could have; the sizes are read, and refused, one by one.
    hosts = hosts < TERN_TOPO_WORD_RANKS_MAX ? hosts : TERN_TOPO_WORD_RANKS_MAX;
    shape->hosts = (int)hosts;
    shape->first = calloc(hosts + 1, sizeof *shape->first);
    if (shape->first == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for %zu machines", hosts);
    }
    return read_sizes(word, at, shape);
}

static int create_machines(const char *word, const char *at, tern_topo **topo)
{
    struct tern__topo_shape shape = {
        .inside = synthetic_link,
        .between = {SYNTHETIC_NETWORK_GBPS, SYNTHETIC_NETWORK_LATENCY_US},
        .machines = true,
        .host_port_GBps = SYNTHETIC_NETWORK_GBPS,
    };
    int status = read_machines(word, at, &shape);
    if (status < 0) {
        free(shape.first);
        return status;
    }
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_this(const char *word, const char *at, tern_topo **topo)
{
    int ranks = tern__cpus_allowed();
    (void)at;
    // As hosts of one rank each, so that the links of a rank share what its processor can copy.
    struct tern__topo_shape shape = {
        .hosts = ranks < TERN_TOPO_RANKS_MAX ? ranks : TERN_TOPO_RANKS_MAX,
        .ranks_per_host = 1,
    };
    shape.between = even_share(&shape, THIS_PORT_GBPS, THIS_LATENCY_US);
    return tern__topo_of_shape(word, &shape, topo);
}

// The forms of words: what begins with "mesh:" is read by the first. `this` is all of its word.
static const struct form {
    const char *form;
    int (*create)(const char *word, const char *at, tern_topo **topo);
} forms[] = {
    {"mesh:N", create_mesh},
    {"ring:N", create_ring},
    {"torus:AxB", create_torus},
    {"cube:D", create_cube},
    {"switch:N", create_switch},
    {"hosts:HxN", create_hosts},
    {"machines:HxN", create_machines},
    {"random:N,SEED", create_random},
    {"this", create_this},
};

enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

const char *tern_topo_form(int index)
{
    return index >= 0 && index < FORM_COUNT ? forms[index].form : NULL;
}

static int unknown(const char *word)
{
    char names[512];
    size_t used = 0;
    for (int i = 0; i < FORM_COUNT; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", forms[i].form);
    }
    used += (size_t)snprintf(names + used, sizeof names - used, "FILE.json and the presets ");
    const char *line;
    for (int i = 0; (line = tern_topo_preset(i)) != NULL && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", i > 0 ? ", " : "",
                                 (int)strcspn(line, ":"), line);
    }
    return tern__fail(TERN_ERR_ARG, "'%.100s' is no topology; there are %s", word, names);
}

static int create(const char *word, tern_topo **topo)
{
    if (ends_with(word, ".json")) {
        return tern__topo_from_file(word, topo);
    }
    for (int i = 0; i < FORM_COUNT; i++) {
        size_t length = strcspn(forms[i].form, ":");
        bool whole = forms[i].form[length] == '\0';
        if (strncmp(word, forms[i].form, whole ? length + 1 : length) == 0 &&
            (whole || word[length] == ':')) {
            return forms[i].create(word, word + length + !whole, topo);
        }
    }
    const struct tern__topo_shape *preset = tern__topo_preset_shape(word);
    return preset != NULL ? tern__topo_of_shape(word, preset, topo) : unknown(word);
}

static int topo_create(const char *word, tern_topo **topo)
{
    if (word == NULL || topo == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_topo_create: word and topo must not be NULL");
    }
    return create(word, topo);
}

int tern_topo_create(const char *word, tern_topo **topo)
{
    return TERN__CALL_OF_CALLS(topo_create(word, topo));
}
