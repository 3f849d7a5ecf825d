// SPDX-License-Identifier: Apache-2.0
// Transports: how bytes get into another rank's window. One table (xport/table.c), one const struct
// per transport, every slot filled; each rank has one for each peer. On one machine that is shared
// memory, where the remote side is an address of this process.
#ifndef TERN_XPORT_XPORT_H
#define TERN_XPORT_XPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/dtype.h"
#include "tern/put.h"
#include "tern/signal.h"

struct tern__xport {
    const char *name;
    bool is_mapped; // the remote side can also be read and written through a pointer
    // Returns when the bytes are stored; ordered before a later notify of the same thread.
    void (*put)(char *remote, const char *local, size_t size_bytes);
    void (*get)(const char *remote, char *local, size_t size_bytes);
    void (*put_block)(char *remote, const char *local, const tern_block *block);
    void (*get_block)(const char *remote, char *local, const tern_block *block);
    void (*put_add)(char *remote, const char *local, size_t count, tern_dtype dtype);
    // Sequentially consistent, for the doorbell that follows it.
    void (*notify)(char *remote, int32_t value, tern_notify_op op);
};

// The transport of a name, or NULL.
const struct tern__xport *tern__xport_find(const char *name);

extern const struct tern__xport tern__xport_shm;

#endif
