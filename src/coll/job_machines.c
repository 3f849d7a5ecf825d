// SPDX-License-Identifier: Apache-2.0
// What a machine knows of the others of its job, and since when. Leaders tell each other ten times
// a second, so what is older than a few of these comes from a machine that is silent.

#include "coll/job_machines.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "coll/job_json.h"
#include "sync/job.h"

#define SILENT_NS (TERN_NS_PER_SECOND / 2)

const char *tern__job_machine(const struct tern__ctl *ctl, int rank)
{
    const struct tern__machines *machines = &ctl->machines;
    return machines->count > 1 ? machines->list[machines->of[rank]].name : "";
}

int tern__job_machine_width(const struct tern__ctl *ctl)
{
    size_t width = strlen("machine");
    for (int rank = 0; rank < (int)ctl->nranks; rank++) {
        size_t length = strnlen(tern__job_machine(ctl, rank), TERN__MACHINE_NAME_BYTES);
        width = length > width ? length : width;
    }
    return (int)width;
}

enum news {
    NEWS_HERE,
    NEWS_FRESH,
    NEWS_SILENT,
    NEWS_LOST, // its ranks count as dead
    NEWS_LEFT, // all of its ranks have ended, so it says nothing more
    NEWS_NONE, // nothing has come from it yet
};

// What is known of a machine, and how old that is, or for how long it was silent; -1: not known.
static enum news look(const struct tern__ctl *ctl, int machine, int64_t now_ns, int64_t *age_ns)
{
    int64_t heard_ns = atomic_load_explicit(&ctl->heard_ns[machine], memory_order_relaxed);
    int64_t silent_ms = tern__flag_load(&ctl->silent_ms[machine]);
    bool ended = true;
    uint64_t ranks = ctl->machines.list[machine].ranks;
    for (; ranks != 0; ranks &= ranks - 1) {
        uint32_t state = tern__flag_load(&ctl->ranks[__builtin_ctzll(ranks) % 64].state);
        ended = ended && (state == TERN__RANK_LEFT || state == TERN__RANK_DEAD);
    }
    *age_ns = heard_ns > 0 ? (now_ns > heard_ns ? now_ns - heard_ns : 0) : -1;
    if (silent_ms > 0) {
        *age_ns = silent_ms * TERN_NS_PER_MS;
        return NEWS_LOST;
    }
    return machine == ctl->machines.mine ? NEWS_HERE
           : ended                       ? NEWS_LEFT
           : *age_ns < 0                 ? NEWS_NONE
           : *age_ns > SILENT_NS         ? NEWS_SILENT
                                         : NEWS_FRESH;
}

void tern__job_machines_text(FILE *file, const struct tern__ctl *ctl, int64_t now_ns)
{
    for (int machine = 0; machine < ctl->machines.count && ctl->machines.count > 1; machine++) {
        char name[112];
        int64_t age_ns;
        enum news news = look(ctl, machine, now_ns, &age_ns);
        double age_s = (double)age_ns * 1e-9;
        tern__machine_text(&ctl->machines.list[machine], name, sizeof name);
        if (news == NEWS_HERE) {
            fprintf(file, "%s: this one\n", name);
        } else if (news == NEWS_LOST && machine == ctl->machines.mine) {
            fprintf(file,
                    "%s: this one, which was silent for %.1f s: to others its ranks are dead\n",
                    name, age_s);
        } else if (news == NEWS_LOST) {
            fprintf(file, "%s: silent for %.1f s, so its ranks count as dead\n", name, age_s);
        } else if (news == NEWS_LEFT) {
            fprintf(file, "%s: its ranks have ended\n", name);
        } else if (news == NEWS_NONE) {
            fprintf(file, "%s: nothing heard yet\n", name);
        } else if (news == NEWS_SILENT) {
            fprintf(file, "%s: silent for %.2f s; what is said of its ranks is that old\n", name,
                    age_s);
        } else {
            fprintf(file, "%s: as of %.2f s ago\n", name, age_s);
        }
    }
}

void tern__job_machines_json(FILE *file, const struct tern__ctl *ctl, int64_t now_ns)
{
    static const char *const words[] = {
        [NEWS_HERE] = "here", [NEWS_FRESH] = "heard", [NEWS_SILENT] = "silent",
        [NEWS_LOST] = "lost", [NEWS_LEFT] = "ended",  [NEWS_NONE] = "unknown",
    };
    if (ctl->machines.count <= 1) {
        return;
    }
    fputs("\"machines\":[", file);
    for (int machine = 0; machine < ctl->machines.count; machine++) {
        int64_t age_ns;
        enum news news = look(ctl, machine, now_ns, &age_ns);
        fprintf(file, "%s{\"machine\":", machine > 0 ? "," : "");
        tern__job_json_string(file, ctl->machines.list[machine].name);
        tern__job_json_field(file, "state", words[news]);
        if (news == NEWS_LOST) {
            fprintf(file, ",\"silent_ns\":%lld", (long long)age_ns);
        } else if (news != NEWS_HERE && age_ns >= 0) {
            fprintf(file, ",\"heard_ns_ago\":%lld", (long long)age_ns);
        }
        fputc('}', file);
    }
    fputs("],", file);
}
