// SPDX-License-Identifier: Apache-2.0
// Tune files from any bytes. What is taken must print as lines that are taken again and mean the
// same; what is refused must say where.
#include <stdio.h>

#include "coll/tune.h"
#include "support/fuzz.h"

static bool are_same(const tern_tune_row *a, const tern_tune_row *b)
{
    return a->kind == b->kind && a->nranks == b->nranks && strcmp(a->small, b->small) == 0 &&
           a->small_bytes == b->small_bytes && strcmp(a->window, b->window) == 0 &&
           strcmp(a->staged, b->staged) == 0 && a->chunk_bytes == b->chunk_bytes &&
           a->direct_from == b->direct_from && a->direct_to == b->direct_to &&
           a->machines == b->machines && a->order == b->order && a->halves == b->halves;
}

static void retell(const struct tern__tune *tune)
{
    for (int i = 0; i < tune->count; i++) {
        char text[TERN_TUNE_LINE_BYTES + 16];
        struct tern__tune again;
        const tern_tune_row *row = &tune->entries[i].row;
        int head = snprintf(text, sizeof text, "%s\n", TERN_TUNE_HEAD);
        int length = tern_tune_print(row, text + head, sizeof text - (size_t)head);
        MUST(length > 0 && length < TERN_TUNE_LINE_BYTES);
        MUST(tern__tune_parse(text, (size_t)(head + length), "again", &again) == TERN_OK);
        MUST(again.count == 1 && are_same(&again.entries[0].row, row));
        MUST(tern__tune_find_row(tune, row) == &tune->entries[i]);
        tern__tune_free(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern__tune tune;
    int line = 0;
    int column = 0;
    int status = tern__tune_parse((const char *)data, size, "fuzz", &tune);
    if (status == TERN_OK) {
        retell(&tune);
        tern__tune_free(&tune);
        return 0;
    }
    MUST(status == TERN_ERR_ARG);
    MUST(sscanf(tern_last_error(), "fuzz:%d:%d:", &line, &column) == 2);
    MUST(line >= 1 && column >= 1 && (size_t)column <= size + 1);
    return 0;
}
