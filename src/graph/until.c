// SPDX-License-Identifier: Apache-2.0
// Whether a condition holds (until.h).

#include "graph/until.h"

#include "isa/signal.h"

int32_t tern__until_seen(const struct tern__until *until)
{
    return until->word != NULL ? (int32_t)tern__flag_load(until->word)
                               : tern__condition_seen(&until->condition);
}

int32_t tern__until_wanted(const struct tern__until *until, uint32_t run)
{
    return (int32_t)((uint32_t)until->condition.value + run * (uint32_t)until->step_per_run);
}

bool tern__until_holds(const struct tern__until *until, uint32_t run)
{
    int32_t seen = tern__until_seen(until);
    if (until->word != NULL) {
        return tern__reached((uint32_t)seen, (uint32_t)until->condition.value);
    }
    return tern__cmp_holds(seen, until->condition.cmp, tern__until_wanted(until, run));
}
