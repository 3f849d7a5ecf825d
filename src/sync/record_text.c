// SPDX-License-Identifier: Apache-2.0
// Words for records.

#include "sync/record_text.h"

#include <stdio.h>

#include "base/kind.h"

const char *tern__way_name(enum tern__way way)
{
    static const char *const names[] = {
        [TERN__WAY_UNKNOWN] = "",      [TERN__WAY_LINE] = "line",     [TERN__WAY_SLOT] = "slot",
        [TERN__WAY_WINDOW] = "window", [TERN__WAY_STAGED] = "staged", [TERN__WAY_MAIL] = "mail",
        [TERN__WAY_COPY] = "copy",     [TERN__WAY_DIRECT] = "direct",
    };
    return (size_t)way < sizeof names / sizeof names[0] ? names[way] : "";
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
    const tern_kind_facts *kind = tern__kind_facts(signature->kind);
    char bytes[40] = "";
    char root[24] = "";
    char op[40] = "";
    if (signature->kind != TERN_COLL_BARRIER) {
        snprintf(bytes, sizeof bytes, " of %llu bytes", (unsigned long long)call->bytes);
        snprintf(op, sizeof op, " (%s%s%s)", tern_dtype_name((tern_dtype)signature->dtype),
                 kind->sums ? " " : "",
                 kind->sums ? tern_reduce_op_name((tern_reduce_op)signature->op) : "");
    }
    if (kind->root != TERN_KIND_ROOT_NONE) {
        snprintf(root, sizeof root, " %s rank %d", kind->root == TERN_KIND_ROOT_TO ? "to" : "from",
                 signature->root);
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
