// SPDX-License-Identifier: Apache-2.0
// Words for records.

#include "sync/record_text.h"

#include <stdio.h>

// By the number of the kind of call: the kind of plan, and which of root and op mean something.
static const struct row {
    int plan_kind;
    bool reduces;
    const char *root; // what comes before the root; NULL: there is none
} rows[] = {
    [TERN_COLL_ALL_REDUCE] = {0, true, NULL},    [TERN_COLL_REDUCE_SCATTER] = {1, true, NULL},
    [TERN_COLL_ALL_GATHER] = {2, false, NULL},   [TERN_COLL_BROADCAST] = {3, false, "from"},
    [TERN_COLL_ALL_TO_ALL] = {4, false, NULL},   [TERN_COLL_BARRIER] = {5, false, NULL},
    [TERN_COLL_REDUCE] = {6, true, "to"},        [TERN_COLL_GATHER] = {7, false, "to"},
    [TERN_COLL_SCATTER] = {8, false, "from"},    [TERN_COLL_REDUCE_SCATTER_V] = {1, true, NULL},
    [TERN_COLL_ALL_GATHER_V] = {2, false, NULL}, [TERN_COLL_ALL_TO_ALL_V] = {4, false, NULL},
    [TERN_COLL_GATHER_V] = {7, false, "to"},     [TERN_COLL_SCATTER_V] = {8, false, "from"},
    [TERN_COLL_SEND] = {-1, false, "to"},        [TERN_COLL_RECV] = {-1, false, "from"},
};

static const struct row *row_of(int coll_kind)
{
    static const struct row none = {-1, false, NULL};
    return coll_kind >= 0 && (size_t)coll_kind < sizeof rows / sizeof rows[0] ? &rows[coll_kind]
                                                                              : &none;
}

int tern__coll_plan_kind(int coll_kind)
{
    return row_of(coll_kind)->plan_kind;
}

bool tern__coll_has_root(int coll_kind)
{
    return row_of(coll_kind)->root != NULL;
}

bool tern__coll_reduces(int coll_kind)
{
    return row_of(coll_kind)->reduces;
}

const char *tern__transport_name(enum tern__transport transport)
{
    static const char *const names[] = {
        [TERN__BY_UNKNOWN] = "",      [TERN__BY_LINE] = "line",     [TERN__BY_SLOT] = "slot",
        [TERN__BY_WINDOW] = "window", [TERN__BY_STAGES] = "staged", [TERN__BY_MAIL] = "mail",
        [TERN__BY_COPY] = "copy",
    };
    return (size_t)transport < sizeof names / sizeof names[0] ? names[transport] : "";
}

const char *tern__record_state_name(enum tern__record_state state)
{
    static const char *const names[] = {
        [TERN__RECORD_FREE] = "unused",     [TERN__RECORD_ENTERED] = "entered",
        [TERN__RECORD_WAITING] = "waiting", [TERN__RECORD_DONE] = "done",
        [TERN__RECORD_FAILED] = "failed",
    };
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

void tern__record_text(const struct tern__recorded *call, char *text, size_t size)
{
    const struct tern__signature *signature = &call->signature;
    const struct row *row = row_of(signature->kind);
    char bytes[40] = "";
    char root[24] = "";
    char op[40] = "";
    if (signature->kind != TERN_COLL_BARRIER) {
        snprintf(bytes, sizeof bytes, " of %llu bytes", (unsigned long long)call->bytes);
        snprintf(op, sizeof op, " (%s%s%s)", tern_dtype_name((tern_dtype)signature->dtype),
                 row->reduces ? " " : "",
                 row->reduces ? tern_reduce_op_name((tern_reduce_op)signature->op) : "");
    }
    if (row->root != NULL) {
        snprintf(root, sizeof root, " %s rank %d", row->root, signature->root);
    }
    snprintf(text, size, "%s %llu%s%s%s", tern_coll_kind_name((tern_coll_kind)signature->kind),
             (unsigned long long)call->sequence, bytes, root, op);
}

bool tern__record_open_text(const struct tern__ctl *ctl, int member, char *text, size_t size)
{
    struct tern__recorded calls[TERN__RECORDS];
    int count = tern__records_read(ctl, member, calls);
    for (int i = 0; i < count; i++) {
        const struct tern__recorded *call = &calls[i];
        if (call->state == TERN__RECORD_ENTERED || call->state == TERN__RECORD_WAITING) {
            char bytes[32] = "";
            if (call->signature.kind != TERN_COLL_BARRIER) {
                snprintf(bytes, sizeof bytes, ", %llu bytes", (unsigned long long)call->bytes);
            }
            snprintf(text, size, "tern_%s (call %llu%s)",
                     tern_coll_kind_name((tern_coll_kind)call->signature.kind),
                     (unsigned long long)call->sequence, bytes);
            return true;
        }
    }
    return false;
}
