// SPDX-License-Identifier: Apache-2.0
// The cores of a chip, for the threads around them. Data path: no lock, system call or log, unless
// a core that sleeps is woken.

#include <stdio.h>

#include "graph/core.h"
#include "sync/wait.h"

void tern__core_text(const struct tern__core *core, char *text, size_t size)
{
    snprintf(text, size, "%s %d", core->kind == TERN_CORE_AIC ? "AIC" : "AIV", core->index);
}

struct tern__ladder tern__cores_ladder(const struct tern__cores *cores)
{
    if (cores->job != NULL) {
        return tern__job_ladder(cores->job);
    }
    return tern__ladder_for(1 + tern__cores_count(cores), cores->cpus);
}

bool tern__cores_awake(const struct tern__cores *cores)
{
    bool awake = true;
    for (int i = 0; i < tern__cores_count(cores) && awake; i++) {
        awake = tern__flag_load(&cores->list[i].bell.sleepers) == 0; // partner: has_work
    }
    return awake;
}

uint32_t tern__cores_looks(const struct tern__cores *cores)
{
    uint32_t looks = 0;
    for (int i = 0; i < tern__cores_count(cores); i++) {
        looks += tern__peek(&cores->list[i].looks);
    }
    return looks;
}

void tern__cores_wake(struct tern__cores *cores, int kind)
{
    for (int i = 0; i * 64 < tern__cores_of(cores, kind); i++) {
        uint64_t bits = atomic_load(&cores->idle[kind][i]); // partner: set_idle
        while (bits != 0) {
            uint64_t bit = bits & -bits;
            bits = atomic_fetch_and(&cores->idle[kind][i], ~bit);
            if (bits & bit) {
                tern__bell_ring(&tern__core_at(cores, kind, i * 64 + __builtin_ctzll(bit))->bell);
                return;
            }
        }
    }
}
