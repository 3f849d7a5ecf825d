// SPDX-License-Identifier: Apache-2.0
// The table of choices that is built in.

#include <stdio.h>
#include <string.h>

#include "coll/tune.h"

#define CHUNK_BYTES 131072

// What is built in: measured with 2, 4 and 8 ranks on two processors. More ranks than processors
// make a synchronisation expensive, so that one of them is worth copying more bytes.
static const struct built_in {
    tern_plan_kind kind;
    const char *small, *window, *staged;
    uint32_t small_bytes[3]; // up to 2 ranks, up to 4, more
    uint32_t direct_from[3]; // likewise; 0: copies through slots are faster
    uint32_t direct_to[3];   // larger shares are faster through slots; 0: none are
} built_in[] = {
    {TERN_PLAN_ALL_REDUCE, "one_shot", "fused", "staged", {6144, 16384, 16384}, {0}, {0}},
    {TERN_PLAN_REDUCE_SCATTER, "direct", "direct", "direct", {8192, 16384, 32768}, {0}, {0}},
    {TERN_PLAN_ALL_GATHER, "pull", "direct", "pull", {8192, 16384, 65536}, {0}, {0}},
    {TERN_PLAN_BROADCAST, "direct", "fused", "direct", {6144, 16384, 65536}, {131072}, {2097152}},
    {TERN_PLAN_ALL_TO_ALL, "pull", "direct", "pull", {8192, 32768, 32768}, {0, 0, 65536}, {0}},
    {TERN_PLAN_BARRIER, "direct", "direct", "direct", {0, 0, 0}, {0}, {0}},
    {TERN_PLAN_REDUCE_TO_ROOT, "pull", "fused", "staged", {8192, 16384, 32768}, {0}, {0}},
    {TERN_PLAN_GATHER, "pull", "direct", "pull", {8192, 65536, 65536}, {0}, {0}},
    {TERN_PLAN_SCATTER,
     "direct",
     "direct",
     "direct",
     {8192, 16384, 131072},
     {0, 65536, 65536},
     {0}},
};

void tern__tune_built_in(tern_plan_kind kind, int nranks, struct tern__choice *choice)
{
    memset(choice, 0, sizeof *choice);
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        if (built_in[i].kind == kind) {
            snprintf(choice->small, sizeof choice->small, "%s", built_in[i].small);
            snprintf(choice->window, sizeof choice->window, "%s", built_in[i].window);
            snprintf(choice->staged, sizeof choice->staged, "%s", built_in[i].staged);
            int column = nranks <= 2 ? 0 : nranks <= 4 ? 1 : 2;
            choice->small_bytes = built_in[i].small_bytes[column];
            choice->direct_from = built_in[i].direct_from[column];
            choice->direct_to = choice->direct_from != 0 ? built_in[i].direct_to[column] : 0;
        }
    }
    choice->direct_learned = kind != TERN_PLAN_BARRIER;
    choice->chunk_bytes = CHUNK_BYTES;
    snprintf(choice->source, sizeof choice->source, "built in");
}
