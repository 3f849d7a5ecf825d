// SPDX-License-Identifier: Apache-2.0
// A host and its chips. Rank 0 orchestrates, every other rank is a chip:
//
//     tern run -n 4 node            all cases that three chips are enough for
//     tern run -n 3 node allreduce  one of them
//
// Every result is compared with the expected values, exactly.
#include <stdio.h>
#include <string.h>

#include "kit.h"

static const struct {
    const char *name;
    case_body body;
    int chips; // at least
} cases[] = {
    {"multi_chip_dispatch", multi_chip_dispatch, 1},
    {"child_memory", child_memory, 1},
    {"message_queue", message_queue, 2},
    {"orch_comm_stream", orch_comm_stream, 1},
    {"allreduce", allreduce, 2},
    {"dual_domain_overlap", dual_domain_overlap, 3},
    {"domain_rank_map", domain_rank_map, 3},
    {"ffn_tp_parallel", ffn_tp_parallel, 2},
    {"async_completion", async_completion, 2},
    {"async_notify", async_notify, 2},
    {"deferred_notify", deferred_notify, 2},
};

static int failed(const char *what)
{
    fprintf(stderr, "node: %s: %s\n", what, tern_last_error());
    return 1;
}

static int serve(tern_comm *world)
{
    enum { FILES = 3 };
    const struct functions *const files[FILES] = {&dispatch_functions, &domains_functions,
                                                  &notify_functions};
    tern_node_function all[32];
    int count = 0;
    for (int f = 0; f < FILES; f++) {
        for (int i = 0; i < files[f]->count; i++) {
            all[count++] = files[f]->list[i];
        }
    }
    const tern_serve_options options = {.functions = all, .functions_count = count};
    return tern_node_serve(world, &options) == TERN_OK ? 0 : failed("tern_node_serve");
}

static int run(tern_node *node, const char *wanted)
{
    const int chips = tern_node_chips(node);
    for (int c = 0; c < COUNT(cases); c++) {
        if (wanted != NULL ? strcmp(wanted, cases[c].name) != 0 : chips < cases[c].chips) {
            continue;
        }
        if (chips < cases[c].chips) {
            fprintf(stderr, "node: %s needs %d chips, so %d ranks\n", cases[c].name, cases[c].chips,
                    cases[c].chips + 1);
            return 1;
        }
        const int status = cases[c].body(node);
        if (status != 0) {
            return status < 0 ? failed(cases[c].name) : 1;
        }
        printf("%s: verified\n", cases[c].name);
    }
    return 0;
}

static bool is_case(const char *name)
{
    for (int c = 0; c < COUNT(cases); c++) {
        if (strcmp(name, cases[c].name) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL;
    tern_comm *world;
    tern_node *node;
    int status = 0;
    if (argc > 2 || (wanted != NULL && !is_case(wanted))) {
        fprintf(stderr, "usage: tern run -n RANKS node [CASE]; the cases are");
        for (int c = 0; c < COUNT(cases); c++) {
            fprintf(stderr, " %s", cases[c].name);
        }
        fprintf(stderr, "\n");
        return 2;
    }
    if (tern_init(NULL, &world) != TERN_OK) {
        return failed("tern_init");
    }
    if (tern_comm_rank(world) != 0) {
        status = serve(world);
    } else if (tern_node_create(world, NULL, &node) != TERN_OK) {
        status = failed("tern_node_create");
    } else {
        status = run(node, wanted);
        if (tern_node_destroy(node) != TERN_OK) {
            status = failed("tern_node_destroy");
        }
    }
    return tern_comm_destroy(world) == TERN_OK ? status : failed("tern_comm_destroy");
}
