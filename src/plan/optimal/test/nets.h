// SPDX-License-Identifier: Apache-2.0
// Topologies for tests of the planner: from a word and its cuts, or from a list of links. After
// cmocka.h.
#ifndef TERN_OPTIMAL_TEST_NETS_H
#define TERN_OPTIMAL_TEST_NETS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/optimal/graph.h"
#include "plan/optimal/lp.h"
#include "support/random.h"
#include "tern/topo.h"

// Set up for groups that need the solver: says why not, and skips.
static inline int without_solver(void **state)
{
    struct tern__lp *lp = NULL;
    if (tern__lp_create(&lp) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        exit(77);
    }
    tern__lp_destroy(lp);
    return 0;
}

// "mesh:8 0-1 2>3 4-5=0.5": a word, then what is cut or slowed.
static inline tern_topo *net_of(const char *text)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest;
    tern_topo *topo = NULL;
    if (tern_topo_create(strtok_r(copy, " ", &rest), &topo) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    for (char *edit = strtok_r(NULL, " ", &rest); edit != NULL; edit = strtok_r(NULL, " ", &rest)) {
        int status =
            strchr(edit, '=') != NULL ? tern_topo_slow(topo, edit) : tern_topo_cut(topo, edit);
        if (status != TERN_OK) {
            fail_msg("%s", tern_last_error());
        }
    }
    return topo;
}

// Links of 1 GB/s times the numbers of a matrix, [from * n + to]; 0: no link.
static inline tern_topo *net_of_matrix(int n, const double *rates)
{
    char path[] = "/tmp/tern-net-XXXXXX.json";
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    FILE *stream = fdopen(file, "w");
    fprintf(stream, "{\"ranks\": %d, \"links\": [", n);
    const char *comma = "";
    for (int i = 0; i < n * n; i++) {
        if (rates[i] > 0 && i / n != i % n) {
            fprintf(stream,
                    "%s{\"from\": %d, \"to\": %d, \"bandwidth_GBps\": %.17g, \"latency_us\": 1}",
                    comma, i / n, i % n, rates[i]);
            comma = ",\n";
        }
    }
    fputs("]}\n", stream);
    fclose(stream);
    tern_topo *topo = NULL;
    int status = tern_topo_create(path, &topo);
    unlink(path);
    if (status != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return topo;
}

// Strongly connected, random links of 1 GB/s, or of 1 to 4 where `rated`.
static inline tern_topo *net_random(int n, bool symmetric, bool rated, uint64_t *seed)
{
    double rates[n * n];
    memset(rates, 0, sizeof rates);
    for (int i = 0; i < n; i++) { // a ring, for the connection
        rates[i * n + (i + 1) % n] = rated ? 1 + (double)random_below(seed, 4) : 1;
    }
    for (int i = 0; i < n * n; i++) {
        if (random_below(seed, 4) == 0) {
            rates[i] = rated ? 1 + (double)random_below(seed, 4) : 1;
        }
    }
    for (int i = 0; symmetric && i < n * n; i++) {
        rates[i % n * n + i / n] = rates[i] = rates[i] > 0 ? rates[i] : rates[i % n * n + i / n];
    }
    return net_of_matrix(n, rates);
}

#endif
