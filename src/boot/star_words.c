// SPDX-License-Identifier: Apache-2.0
// What ranks are told when a gathering does not come about.

#include "boot/star_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "boot/listen.h"

struct tern__star_name tern__star_name(const struct tern__star *star, int rank)
{
    const struct tern__machines *machines = star->machines;
    struct tern__star_name name;
    snprintf(name.text, sizeof name.text, "rank %d on machine %.*s (%s)", rank,
             TERN__MACHINE_NAME_BYTES - 1, machines->list[machines->of[rank]].name,
             tern__address_text(&machines->address[rank]).text);
    return name;
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
    text[0] = '\0';
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
