// SPDX-License-Identifier: Apache-2.0
// Waiting, while work goes on. Short path: without any it is the ladder.

#include "sync/wait.h"

#include <stddef.h>

#include "base/clock.h"
#include "sync/work.h"
#include "tern/status.h"

struct together {
    const struct tern__wait *wait;
};

static bool holds_or_moves(void *arg)
{
    const struct together *together = arg;
    return together->wait->holds(together->wait->arg) || tern__work_ready_on(together->wait->bell);
}

static int is_broken(void *arg, bool deep)
{
    const struct together *together = arg;
    return together->wait->broken(together->wait->arg, deep);
}

int tern__wait(const struct tern__wait *wait)
{
    if (!tern__work_exists() && tern__single_threaded()) {
        return tern__ladder_climb(wait);
    }
    struct together together = {.wait = wait};
    struct tern__wait climb = *wait;
    int64_t deadline = tern__deadline_after(wait->timeout_ns);
    climb.holds = holds_or_moves;
    climb.broken = wait->broken != NULL ? is_broken : NULL;
    climb.arg = &together;
    for (;;) {
        tern__work_advance_on(wait->bell);
        int status = tern__ladder_climb(&climb);
        if (wait->holds(wait->arg)) {
            return TERN_OK;
        }
        if (status != TERN_OK) {
            return status;
        }
        int64_t now = tern__now_ns();
        climb.timeout_ns = deadline > now ? deadline - now : 0;
    }
}
