// SPDX-License-Identifier: Apache-2.0
// The styles: one row each.

#include "perf/style.h"

#include <stdio.h>
#include <string.h>

static const struct perf_style styles[] = {
    {.word = "hccl_test",
     .min = UINT64_C(64) << 20,
     .max = UINT64_C(64) << 20,
     .warmup = 5,
     .iterations = 20,
     .per_device = true,
     .nothing = "",
     .print_head = perf_hccl_head,
     .print_row = perf_hccl_row,
     .print_foot = perf_hccl_foot},
    {.word = "nccl-tests",
     .min = UINT64_C(32) << 20,
     .max = UINT64_C(32) << 20,
     .step = 1 << 20,
     .warmup = 1,
     .iterations = 20,
     .align = 16,
     .both = true,
     .nothing = "mNazGRJT",
     .has_threads = true,
     .print_head = perf_nccl_head,
     .print_row = perf_nccl_row,
     .print_foot = perf_nccl_foot},
};

const struct perf_style *perf_style_find(const char *word)
{
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        if (strcmp(word, styles[i].word) == 0) {
            return &styles[i];
        }
    }
    return NULL;
}

const char *perf_style_kind(const char *word, char text[PERF_NAME_BYTES])
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {{"alltoall", "all_to_all"},
                 {"alltoallv", "all_to_all_v"},
                 {"sendrecv", "send_recv"}};
    size_t length = strlen(word);
    if (length >= PERF_NAME_BYTES) {
        return word;
    }
    bool ends = length > 5 && (strcmp(word + length - 5, "_test") == 0 ||
                               strcmp(word + length - 5, "_perf") == 0);
    snprintf(text, PERF_NAME_BYTES, "%.*s", (int)(ends ? length - 5 : length), word);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].theirs) == 0) {
            return names[i].ours;
        }
    }
    return text;
}

uint64_t perf_style_bytes(const struct perf_options *options, enum perf_kind kind, int nranks,
                          uint64_t size)
{
    const struct perf_style *style = options->style;
    if (style == NULL || kind >= PERF_KINDS || !perf_has(kind, PERF_DIVIDED)) {
        return size;
    }
    uint64_t share = style->per_device ? size : size / (uint64_t)nranks;
    share -= style->align > 0 ? share % style->align : 0;
    return share * (uint64_t)nranks;
}
