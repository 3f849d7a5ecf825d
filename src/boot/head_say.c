// SPDX-License-Identifier: Apache-2.0
// What the head says to the branches.

#include <stdio.h>

#include "boot/head.h"

struct tern__head_host tern__head_host(const struct tern__job_head *head, int entry)
{
    const struct tern__host *host = &head->hosts.list[entry];
    struct tern__head_host made;
    snprintf(made.text, sizeof made.text, "host %s (%s)", host->name, tern__host_ranks(host).text);
    return made;
}

void tern__head_say_to(struct tern__entry *entry, struct tern__link_word word, const void *payload,
                       size_t bytes)
{
    word.bytes = (uint32_t)bytes;
    if (entry->joined) {
        tern__link_say(&entry->link, &word, payload);
    }
}

void tern__head_say(struct tern__job_head *head, struct tern__link_word word, const void *payload,
                    size_t bytes)
{
    for (int i = 0; i < head->hosts.count; i++) {
        tern__head_say_to(&head->entries[i], word, payload, bytes);
    }
}

void tern__head_why(const struct tern__job_head *head, char *text, size_t size)
{
    const struct tern__launch *job = &head->job;
    if (tern__launch_cause(job, text, size) >= 0) {
        return;
    }
    if (job->culprit >= 0 && job->cause == CAUSE_RANK) {
        tern__hub_describe_end(job->culprit, job->procs.status[job->culprit], text, size);
    } else {
        snprintf(text, size, "the job is being ended");
    }
}
