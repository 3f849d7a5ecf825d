// SPDX-License-Identifier: Apache-2.0
// What runs of plans leave in a trace.

#include <stdio.h>

#include "base/trace.h"
#include "plan/exec/exec.h"

void tern__exec_trace_step(const struct tern__lanes *lanes, const struct tern__step *step,
                           int64_t begin_ns)
{
    bool posts = step->kind == TERN__STEP_POST;
    const tern_window *window = lanes->window;
    int owner = posts ? step->peer : lanes->binding->rank;
    struct tern__trace_event event =
        tern__window_event(window, owner, posts ? TERN__TRACE_NOTIFY : TERN__TRACE_WAIT, begin_ns);
    event.has = (uint16_t)(TERN__TRACE_HAS_SIGNAL | (posts ? TERN__TRACE_HAS_PEER : 0));
    event.signal = step->signal;
    uint64_t arrow = tern__trace_arrow(TERN__ARROW_POSTED, window->comm->group.slot,
                                       (uint64_t)window->number << 32 |
                                           (uint32_t)window->comm->group.members[owner],
                                       (uint64_t)lanes->run << 32 | event.signal);
    event.out = posts ? arrow : 0;
    event.in = posts ? 0 : arrow;
    event.nth = posts ? 0 : (uint16_t)step->count; // whoever counts further takes the last
    tern__trace_name(&event, posts ? "post" : "signal");
    tern__trace_put(&event);
}

void tern__exec_trace_run(const struct tern_exec *exec)
{
    const tern_plan_spec *spec = tern_plan_get_spec(exec->plan);
    struct tern__trace_event event = {.begin_ns = exec->traced_ns,
                                      .kind = TERN__TRACE_CALL,
                                      .number = exec->lanes.run,
                                      .bytes = spec->bytes,
                                      .has = exec->overlaps ? TERN__TRACE_OVERLAPS : 0};
    snprintf(event.name, sizeof event.name, "plan of %s", tern_plan_kind_name(spec->kind));
    snprintf(event.algorithm, sizeof event.algorithm, "%s", spec->algorithm);
    tern__trace_put(&event);
}
