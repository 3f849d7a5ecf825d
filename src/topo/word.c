// SPDX-License-Identifier: Apache-2.0
// From a word to a topology. Words are read strictly: what is not exactly one of the forms is
// refused with what would be right. The synthetic forms have round numbers;
// docs/topology.md says whence.

#include <stdio.h>
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
                          TERN_TOPO_RANKS_MAX);
    }
    if (hosts > TERN_TOPO_RANKS_MAX / ranks_per_host) {
        return tern__fail(TERN_ERR_ARG, "'%.100s' has too many ranks; from 1 to %d are possible",
                          word, TERN_TOPO_RANKS_MAX);
    }
    return TERN_OK;
}

// "mesh:N" and "ring:N"; `at` is behind the colon.
static int create_flat(const char *word, const char *at, bool ring, tern_topo **topo)
{
    struct tern__topo_shape shape = {.hosts = 1, .ring = ring, .inside = synthetic_link};
    if (!tern__topo_read_whole(&at, &shape.ranks_per_host) || *at != '\0') {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s': a number of ranks must follow '%s:', as in %s:8, and nothing "
                          "else",
                          word, ring ? "ring" : "mesh", ring ? "ring" : "mesh");
    }
    TERN_TRY(check_size(word, shape.hosts, shape.ranks_per_host));
    return tern__topo_of_shape(word, &shape, topo);
}

static int create_hosts(const char *word, const char *at, tern_topo **topo)
{
    struct tern__topo_shape shape = {.inside = synthetic_link,
                                     .port_GBps = SYNTHETIC_PORT_GBPS,
                                     .port_latency_us = SYNTHETIC_PORT_LATENCY_US};
    if (!tern__topo_read_whole(&at, &shape.hosts) || *at++ != 'x' ||
        !tern__topo_read_whole(&at, &shape.ranks_per_host) || *at != '\0') {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s': hosts and ranks of each must follow 'hosts:', as in hosts:2x8 "
                          "(2 hosts of 8 ranks), and nothing else",
                          word);
    }
    TERN_TRY(check_size(word, shape.hosts, shape.ranks_per_host));
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

// How many ranks each machine has, into counts[]; how many machines in *count.
static int read_machines(const char *word, const char *at, int counts[TERN_TOPO_RANKS_MAX],
                         int *count)
{
    int first;
    int each;
    if (!tern__topo_read_whole(&at, &first)) {
        return machines_wrong(word);
    }
    if (*at == 'x') {
        at++;
        if (!tern__topo_read_whole(&at, &each) || *at != '\0') {
            return machines_wrong(word);
        }
        TERN_TRY(check_size(word, first, each));
        for (*count = 0; *count < first; (*count)++) {
            counts[*count] = each;
        }
        return TERN_OK;
    }
    TERN_TRY(check_size(word, 1, first));
    int ranks = first;
    counts[0] = first;
    for (*count = 1; *at == '+'; (*count)++, ranks += each) {
        at++;
        if (!tern__topo_read_whole(&at, &each)) {
            return machines_wrong(word);
        }
        TERN_TRY(check_size(word, 1, each));
        TERN_TRY(check_size(word, 1, ranks + each));
        counts[*count] = each;
    }
    return *at == '\0' ? TERN_OK : machines_wrong(word);
}

static int create_machines(const char *word, const char *at, tern_topo **topo)
{
    int counts[TERN_TOPO_RANKS_MAX];
    int of[TERN_TOPO_RANKS_MAX];
    struct tern__topo_machine machines[TERN_TOPO_RANKS_MAX];
    int count;
    int ranks = 0;
    TERN_TRY(read_machines(word, at, counts, &count));
    for (int m = 0; m < count; m++) {
        machines[m] = (struct tern__topo_machine){.port_GBps = SYNTHETIC_NETWORK_GBPS,
                                                  .latency_us = SYNTHETIC_NETWORK_LATENCY_US};
        tern__topo_name_machine(&machines[m], m);
        for (int i = 0; i < counts[m]; i++) {
            of[ranks++] = m;
        }
    }
    return tern__topo_of_machines(word, ranks, of, machines, count, synthetic_link, topo);
}

static int create_this(tern_topo **topo)
{
    int ranks = tern__cpus_allowed();
    ranks = ranks < TERN_TOPO_RANKS_MAX ? ranks : TERN_TOPO_RANKS_MAX;
    // As hosts of one rank each, so that the links of a rank share what its processor can copy.
    struct tern__topo_shape shape = {.hosts = ranks,
                                     .ranks_per_host = 1,
                                     .port_GBps = THIS_PORT_GBPS,
                                     .port_latency_us = THIS_LATENCY_US};
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
