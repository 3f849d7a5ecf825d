// SPDX-License-Identifier: Apache-2.0
// A rank table: which ranks there are, and on which devices of which servers. JSON, versions "1.0"
// to "1.2"; fields that say nothing here are skipped.
#ifndef TERN_FACES_HCCL_RANK_TABLE_H
#define TERN_FACES_HCCL_RANK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "tern/comm.h"

#define TERN__HCCL_SERVER_ID_BYTES 128

struct tern__hccl_table {
    int ranks;
    int servers;
    char server_ids[TERN_RANKS_MAX][TERN__HCCL_SERVER_ID_BYTES];
    int server_of[TERN_RANKS_MAX]; // by rank
    int device_of[TERN_RANKS_MAX];
};

// TERN_ERR_ARG with "name:line:column: sentence". text[size] is 0.
int tern__hccl_table_read(const char *name, const char *text, size_t size,
                          struct tern__hccl_table *table);

#endif
