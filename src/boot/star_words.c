// SPDX-License-Identifier: Apache-2.0
// What ranks are told when a gathering does not come about.

#include "boot/star_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "boot/listen.h"
#include "sync/job.h"

struct tern__star_name tern__star_name(const struct tern__star *star, int rank)
{
    const struct tern__machines *machines = star->machines;
    struct tern__star_name name;
    if (machines != NULL) {
        snprintf(name.text, sizeof name.text, "rank %d on machine %.*s (%s)", rank,
                 TERN__MACHINE_NAME_BYTES - 1, machines->list[machines->of[rank]].name,
                 tern__address_text(&machines->address[rank]).text);
    } else if (rank < 0) {
        snprintf(name.text, sizeof name.text, "the rank at which all meet (%s)",
                 tern__address_text(star->at).text);
    } else {
        snprintf(name.text, sizeof name.text, "rank %d", rank);
    }
    return name;
}

int tern__star_silent(const struct tern__star *star, int rank)
{
    char machine[112];
    const char *who = machine;
    struct tern__star_name name = tern__star_name(star, rank);
    if (star->machines != NULL) {
        tern__machine_text(&star->machines->list[star->machines->of[rank]], machine,
                           sizeof machine);
    } else {
        who = name.text;
    }
    return tern__fail(TERN_ERR_PEER, "%s has been silent for %.1f s", who,
                      (double)star->silence_ns * 1e-9);
}

int tern__star_parted(const struct tern__star *star, int rank)
{
    return tern__fail(TERN_ERR_PEER, "%s has ended, or given up, before all had come to %s",
                      tern__star_name(star, rank).text, star->what);
}

int tern__star_unreached(const struct tern__star *star, int rank, int error)
{
    bool ended = error == ECONNREFUSED || error == ECONNRESET;
    return tern__fail(TERN_ERR_PEER, "%s cannot be reached: %s%s", tern__star_name(star, rank).text,
                      strerror(error),
                      ended ? "; nobody listens there any more, so its process has ended, or has "
                              "let go of what it had prepared"
                            : "");
}

int tern__star_timed_out(const struct tern__star *star, uint64_t missing, int64_t timeout_ns)
{
    char text[TERN_ERROR_BYTES - 200];
    size_t used = 0;
    snprintf(text, sizeof text, "%s", missing == 0 ? tern__star_name(star, star->host).text : "");
    for (int rank = 0; rank < star->nranks && used < sizeof text; rank++) {
        if ((missing >> rank & 1) != 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "",
                                     tern__star_name(star, rank).text);
        }
    }
    return tern__fail(TERN_ERR_TIMEOUT, "rank %d waited %.3g s in %s, to which did not come: %s",
                      star->rank, (double)timeout_ns * 1e-9, star->what, text);
}

int tern__star_interrupted(const struct tern__star *star)
{
    return tern__fail(TERN_ERR_INTERRUPTED, "rank %d was interrupted in %s", star->rank,
                      star->what);
}
