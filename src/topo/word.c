// SPDX-License-Identifier: Apache-2.0
// From a word to a topology. Words are read strictly: what is not exactly one of the forms is
// refused with what would be right. The synthetic forms have round numbers;
// docs/topology.md says whence.

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

// "mesh:N" and "ring:N"; `at` is behind the colon.
static int create_flat(const char *word, const char *at, bool ring, tern_topo **topo)
{
    struct tern__topo_shape shape = {.hosts = 1, .dim_count = ring, .inside = synthetic_link};
    if (!tern__topo_read_whole(&at, &shape.ranks_per_host) || *at != '\0') {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s': a number of ranks must follow '%s:', as in %s:8, and nothing "
                          "else",
                          word, ring ? "ring" : "mesh", ring ? "ring" : "mesh");
    }
    TERN_TRY(check_size(word, shape.hosts, shape.ranks_per_host));
    shape.dims[0] = shape.ranks_per_host;
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
    struct tern__topo_shape shape = {.inside = synthetic_link};
    if (!tern__topo_read_whole(&at, &shape.hosts) || *at++ != 'x' ||
        !tern__topo_read_whole(&at, &shape.ranks_per_host) || *at != '\0') {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s': hosts and ranks of each must follow 'hosts:', as in hosts:2x8 "
                          "(2 hosts of 8 ranks), and nothing else",
                          word);
    }
    TERN_TRY(check_size(word, shape.hosts, shape.ranks_per_host));
    shape.between = even_share(&shape, SYNTHETIC_PORT_GBPS, SYNTHETIC_PORT_LATENCY_US);
    return tern__topo_of_shape(word, &shape, topo);
}

static int machines_wrong(const char *word)
{
    return tern__fail(TERN_ERR_ARG,
                      "'%.100s': machines and ranks of each must follow 'machines:', as in "
                      "machines:2x4 (2 machines of 4 ranks) or machines:1+2+3 (3 machines of 1, 2 "
                      "and 3 ranks), and nothing else",
                      word);
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
    };
    int status = read_machines(word, at, &shape);
    if (status < 0) {
        free(shape.first);
        return status;
    }
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_this(tern_topo **topo)
{
    int ranks = tern__cpus_allowed();
    // As hosts of one rank each, so that the links of a rank share what its processor can copy.
    struct tern__topo_shape shape = {
        .hosts = ranks < TERN_TOPO_RANKS_MAX ? ranks : TERN_TOPO_RANKS_MAX,
        .ranks_per_host = 1,
    };
    shape.between = even_share(&shape, THIS_PORT_GBPS, THIS_LATENCY_US);
    return tern__topo_of_shape("this", &shape, topo);
}

static int create(const char *word, tern_topo **topo)
{
    if (ends_with(word, ".json")) {
        return tern__topo_from_file(word, topo);
    }
    if (strncmp(word, "mesh:", 5) == 0 || strncmp(word, "ring:", 5) == 0) {
        return create_flat(word, word + 5, word[0] == 'r', topo);
    }
    if (strncmp(word, "hosts:", 6) == 0) {
        return create_hosts(word, word + 6, topo);
    }
    if (strncmp(word, "machines:", 9) == 0) {
        return create_machines(word, word + 9, topo);
    }
    if (strcmp(word, "this") == 0) {
        return create_this(topo);
    }
    const struct tern__topo_shape *preset = tern__topo_preset_shape(word);
    if (preset != NULL) {
        return tern__topo_of_shape(word, preset, topo);
    }
    char names[256];
    tern__topo_preset_names(names, sizeof names);
    return tern__fail(TERN_ERR_ARG,
                      "'%.100s' is no topology; there are mesh:N, ring:N, hosts:HxN, "
                      "machines:HxN, this, FILE.json and the presets %s",
                      word, names);
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
