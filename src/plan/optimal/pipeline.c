// SPDX-License-Identifier: Apache-2.0
// A tree of depth d sends its range in K - d + 1 parts in K rounds: part i goes over the links of
// level l in round i + l - 1. No round takes longer than 1 / (K - D + 1) of the least time, where D
// is the depth of the deepest tree.

#include "base/error.h"
#include "plan/optimal/pipeline.h"

enum { PARTS_MAX = 150000 }; // of all links of all trees: about as many ops

static bool is_used(const struct tern__master *master, int tree)
{
    return master->share[tree] > 1e-9;
}

static int check_size(const struct tern__aim *aim, const struct tern__master *master, int count)
{
    int64_t parts = 0;
    for (int j = 0; j < master->trees.count; j++) {
        const struct tern__net_tree *tree = master->trees.at[j];
        if (!is_used(master, j)) {
            continue;
        }
        if (tree->depth > count) {
            return tern__fail(TERN_ERR_LIMIT, "%d rounds are too few for trees of %d", count,
                              tree->depth);
        }
        for (int task = 0; task < 2 * aim->graph->n; task++) {
            parts += tree->level[task] > 0 ? count - tree->depth + 1 : 0;
        }
    }
    return parts <= PARTS_MAX
               ? TERN_OK
               : tern__fail(TERN_ERR_LIMIT, "a plan of %d rounds has more than %d parts", count,
                            PARTS_MAX);
}

static void send_parts(const struct tern__rounds *rounds, int n, int j)
{
    const struct tern__net_tree *tree = rounds->trees->at[j];
    int parts = rounds->count - tree->depth + 1;
    for (int task = 0; task < 2 * n; task++) {
        double *sent = tern__rounds_sent(rounds, n, j, task);
        for (int t = tree->level[task]; t > 0 && t <= rounds->count; t++) {
            int done = t - tree->level[task] + 1;
            sent[t] = done < parts ? rounds->share[j] * done / parts : rounds->share[j];
        }
    }
}

int tern__pipeline_make(struct tern__arena *arena, const struct tern__aim *aim,
                        const struct tern__master *master, int count, struct tern__rounds *rounds)
{
    int n = aim->graph->n;
    int deepest = 1;
    *rounds =
        (struct tern__rounds){.count = count, .trees = &master->trees, .share = master->share};
    TERN_TRY(check_size(aim, master, count));
    TERN__ARENA_TAKE(arena, rounds->sent,
                     (size_t)master->trees.count * 2 * (size_t)n * (size_t)(count + 1));
    for (int j = 0; j < master->trees.count; j++) {
        if (is_used(master, j)) {
            int depth = master->trees.at[j]->depth;
            deepest = depth > deepest ? depth : deepest;
            send_parts(rounds, n, j);
        }
    }
    rounds->time = master->time * count / (count - deepest + 1);
    return TERN_OK;
}
