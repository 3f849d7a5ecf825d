// SPDX-License-Identifier: Apache-2.0
// What runs of plans leave in a trace.

#include <stdio.h>

#include "base/trace.h"
#include "plan/exec/exec.h"

void tern__exec_trace_signal(const struct tern_exec *exec, const struct tern__exec_op *op,
                             int64_t begin_ns)
{
    bool posts = op->kind == TERN__EXEC_POST;
    const tern_window *window = exec->window;
    const char *word = posts ? op->post.word : (const char *)op->wait.word;
    size_t at = (size_t)(word - window->base);
    int owner = (int)(at / window->size_bytes);
    size_t offset = at % window->size_bytes;
    struct tern__trace_event event =
        tern__window_event(window, owner, posts ? TERN__TRACE_NOTIFY : TERN__TRACE_WAIT, begin_ns);
    event.has = (uint16_t)(TERN__TRACE_HAS_SIGNAL | (posts ? TERN__TRACE_HAS_PEER : 0));
    event.signal = (offset - sizeof(struct tern__exec_head)) / exec->signals_stride;
    uint64_t arrow = tern__trace_arrow(TERN__ARROW_POSTED, window->comm->group.slot,
                                       (uint64_t)window->number << 32 |
                                           (uint32_t)window->comm->group.members[owner],
                                       (uint64_t)exec->run << 32 | event.signal);
    event.out = posts ? arrow : 0;
    event.in = posts ? 0 : arrow;
    event.nth = posts ? 0 : (uint16_t)op->wait.count; // whoever counts further takes the last
    tern__trace_name(&event, posts ? "post" : "signal");
    tern__trace_put(&event);
}

void tern__exec_trace_run(const struct tern_exec *exec)
{
    const tern_plan_spec *spec = tern_plan_get_spec(exec->plan);
    struct tern__trace_event event = {.begin_ns = exec->traced_ns,
                                      .kind = TERN__TRACE_CALL,
                                      .number = exec->run,
                                      .bytes = spec->bytes,
                                      .has = exec->overlaps ? TERN__TRACE_OVERLAPS : 0};
    snprintf(event.name, sizeof event.name, "plan of %s", tern_plan_kind_name(spec->kind));
    snprintf(event.algorithm, sizeof event.algorithm, "%s", spec->algorithm);
    tern__trace_put(&event);
}
