// SPDX-License-Identifier: Apache-2.0
// Before `tern exec` runs a plan: its proof, for the machines that it will run on.

#include <stdio.h>

#include "cli.h"
#include "exec/exec.h"
#include "tern/check.h"

#define CHECKED_OPS_MAX 200000 // a check of so many takes less than a second or two

// The first finding, and, where machines are what is wrong, which would be right.
static void say_refuted(const tern_check *check, const tern_plan *plan, const tern_topo *topo)
{
    char fit[256];
    for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
        const char *finding = tern_check_finding(check, (tern_check_rule)rule, 0);
        if (finding == NULL) {
            continue;
        }
        if (rule == TERN_CHECK_REACH && !exec_fits(plan, topo, fit, sizeof fit)) {
            fprintf(stderr, "tern exec: the plan is refuted on these machines: %s; %s\n", finding,
                    fit);
        } else {
            fprintf(stderr,
                    "tern exec: the plan is refuted: %s; 'tern check' says more, and with "
                    "--unchecked it runs all the same\n",
                    finding);
        }
        return;
    }
}

int exec_prove(const struct exec_arguments *arguments, const tern_plan *plan, const tern_topo *topo)
{
    size_t ops = tern_plan_total_ops(plan);
    if (arguments->unchecked || ops > CHECKED_OPS_MAX) {
        printf("check     unchecked, %s: 'tern check' proves it\n",
               arguments->unchecked ? "as asked" : "for it has very many ops");
        return -1;
    }
    if (tern_plan_get_spec(plan)->slots != 0) {
        return -1; // the run refuses it
    }
    tern_check *check;
    if (tern_check_plan(plan, topo, &check) != TERN_OK) {
        printf("check     unchecked: %s\n", tern_last_error());
        return -1;
    }
    bool proved = tern_check_proved(check);
    if (proved && tern_topo_machine_count(topo) > 1) {
        printf("check     proved: right under every interleaving, on %d machines\n",
               tern_topo_machine_count(topo));
    } else if (proved) {
        printf("check     proved: right under every interleaving, if all links exist\n");
    } else {
        say_refuted(check, plan, topo);
    }
    tern_check_destroy(check);
    return proved ? -1 : 1;
}
