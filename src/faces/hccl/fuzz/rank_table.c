// SPDX-License-Identifier: Apache-2.0
// Rank tables from any bytes: what is taken has each rank once, and what is refused says where.

#include "faces/hccl/rank_table.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tern__hccl_table table;
    char *text = malloc(size + 1); // as large as needed: a read beyond it is seen
    memcpy(text, data, size);
    text[size] = '\0';
    int status = tern__hccl_table_read("fuzz.json", text, size, &table);
    if (status == TERN_OK) {
        MUST(table.ranks >= 1 && table.ranks <= TERN_RANKS_MAX);
        MUST(table.servers >= 1 && table.servers <= table.ranks);
        for (int rank = 0; rank < table.ranks; rank++) {
            MUST(table.server_of[rank] >= 0 && table.server_of[rank] < table.servers);
        }
    } else {
        MUST(status == TERN_ERR_ARG && strncmp(tern_last_error(), "fuzz.json:", 10) == 0);
    }
    free(text);
    return 0;
}
