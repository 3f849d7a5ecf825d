// SPDX-License-Identifier: Apache-2.0
// The trace of a simulated run, and the page that is made of it.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sim/sim.h"

int sim_show_page(const struct sim_arguments *arguments, const struct sim_case *one)
{
    const tern_sim_facts *facts = tern_sim_get_facts(one->sim);
    char title[512];
    if (facts->traced_us > 0 && !isinf(facts->traced_us)) {
        fprintf(stderr,
                "tern sim: the trace holds %" PRIu64 " events, up to %.3f us of %.3f us; "
                "--trace-events N is for more\n",
                facts->traced, facts->traced_us, facts->time_us);
    }
    snprintf(title, sizeof title, "%s %s, %" PRIu64 " bytes, on %s: simulated",
             tern_plan_kind_name(one->spec->kind), one->spec->algorithm, one->spec->bytes,
             one->topo);
    return cli_page_write(&arguments->page, arguments->options.trace, title);
}
