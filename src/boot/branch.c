// SPDX-License-Identifier: Apache-2.0
// What a branch hears from the head, and does.

#include "boot/branch.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "boot/hub.h"
#include "boot/launch_job.h"
#include "boot/words.h"

#define EXIT_LOST 137

static void go(struct tern__launch *job, const struct tern__link_word *word, const void *payload)
{
    struct tern__machines machines;
    if (word->bytes == sizeof machines) {
        memcpy(&machines, payload, sizeof machines);
        machines.mine = job->branch->assignment->machine;
        job->branch->generation++;
        tern__hub_release(job->hub, &machines);
    }
}

static void obey(struct tern__launch *job, const struct tern__link_word *word, const void *payload)
{
    char text[640];
    switch ((enum tern__word)word->kind) {
    case TERN__WORD_GO:
        go(job, word, payload);
        break;
    case TERN__WORD_GIVE_UP:
        snprintf(text, sizeof text, "%.*s", (int)word->bytes, (const char *)payload);
        job->branch->generation++;
        tern__hub_give_up(job->hub, word->value, text);
        break;
    case TERN__WORD_END:
        tern__launch_end(job, CAUSE_HEAD, word->value * TERN_NS_PER_MS,
                         word->rank * TERN_NS_PER_MS);
        break;
    case TERN__WORD_SIGNAL:
        if (word->value > 0 && word->value < 64) {
            tern__launch_obey(job, word->value, false);
        }
        break;
    case TERN__WORD_RANK_ENDED:
        if (word->rank >= 0 && word->rank < job->procs.nranks) {
            tern__hub_remote_ended(job->hub, word->rank, word->value,
                                   (word->number & TERN__WORD_DESERTED) != 0);
        }
        break;
    case TERN__WORD_CLOCK:
        tern__branch_hear_clock(job->branch, word);
        break;
    case TERN__WORD_GONE:
        tern__hub_remote_gone(job->hub, word->number, word->value);
        break;
    case TERN__WORD_LIFE:
    case TERN__WORD_JOIN:
    case TERN__WORD_PRESENT:
    case TERN__WORD_ENDED:
    case TERN__WORD_FAIL:
    case TERN__WORD_FAILURE:
    case TERN__WORD_ASK_CLOCK:
    case TERN__WORD_CLOCKS:
    case TERN__WORD_TRACK:
    case TERN__WORD_EVENTS:
    case TERN__WORD_TRACED:
    case TERN__WORD_OVER:
        break; // a branch is not told these
    }
}

static void lose_head(struct tern__launch *job)
{
    struct tern__link *link = &job->branch->link;
    if (link->fd < 0) {
        return; // said already
    }
    if (link->state == TERN__LINK_SILENT) {
        double silence_s = (double)link->silence_ns * 1e-9;
        link->state = TERN__LINK_OPEN; // the way to the head may still be good
        tern__branch_fail(job->branch, EXIT_LOST, "has heard nothing from the head for %.3g s",
                          silence_s);
        tern__launch_say("on %s: the head of the job has been silent for %.3g s\n",
                         job->branch->assignment->host, silence_s);
        if (job->hub != NULL) { // through the head came all news of the other machines
            tern__hub_remote_gone(job->hub, (UINT64_MAX >> (64 - job->procs.nranks)),
                                  (int32_t)(link->silence_ns / TERN_NS_PER_MS));
        }
        tern__launch_end(job, CAUSE_HEAD, TERN__SILENT_TERM_MS * TERN_NS_PER_MS,
                         TERN__SILENT_KILL_MS * TERN_NS_PER_MS);
    } else if (job->kill_at_ns == INT64_MAX) { // else it has said how long ranks have
        tern__launch_say("on %s: the head of the job is gone\n", job->branch->assignment->host);
        tern__launch_end(job, CAUSE_HEAD, 0, 0);
    }
    tern__link_close(link);
}

int64_t tern__branch_turn(struct tern__launch *job)
{
    struct tern__branch *branch = job->branch;
    struct tern__link_word word;
    const void *payload;
    int64_t next_ns = tern__link_turn(&branch->link);
    branch->obeys = true;
    while (job->hub != NULL && tern__link_hear(&branch->link, &word, &payload)) {
        obey(job, &word, payload);
    }
    branch->obeys = false;
    if (branch->changed && job->hub != NULL) {
        tern__branch_tell_present(job);
    }
    if (job->traces != NULL && branch->asked_ns == 0) {
        tern__branch_ask_clock(branch);
    }
    if (branch->link.state != TERN__LINK_OPEN) {
        lose_head(job);
        return INT64_MAX;
    }
    return next_ns;
}
