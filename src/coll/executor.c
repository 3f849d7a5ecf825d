// SPDX-License-Identifier: Apache-2.0
// TERN_EXECUTOR: a shared object whose executors (tern/record.h) are algorithms for collective
// calls, by the names they register. Such a plan is for one size; a call records it when it first
// needs it, in a child process, and runs no plan that the checker refutes.

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "coll/executor.h"
#include "tern/check.h"
#include "tern/record.h"

#define NAMES_MAX 32
#define NAME_BYTES 32
#define SLICE 16384 // what executors round blocks up to

static const char *library(void)
{
    const char *path = getenv("TERN_EXECUTOR");
    return path != NULL && *path != '\0' ? path : NULL;
}

const char *tern__executor_name(tern_plan_kind kind, const char *text, size_t length)
{
    static char names[NAMES_MAX][NAME_BYTES]; // for ever: choices point to them
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (library() == NULL || kind == TERN_PLAN_BARRIER || kind == TERN_PLAN_BROADCAST ||
        length == 0 || length >= NAME_BYTES) {
        return NULL;
    }
    const char *name = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; name == NULL && i < NAMES_MAX; i++) {
        if (names[i][0] == '\0') {
            memcpy(names[i], text, length);
        }
        bool same = strlen(names[i]) == length && memcmp(names[i], text, length) == 0;
        name = same ? names[i] : NULL;
    }
    pthread_mutex_unlock(&lock);
    return name;
}

// The CCL buffers of a call are no larger than its bytes need: they are part of what a call has.
static int ccl_bytes(uint64_t bytes, uint64_t *ccl)
{
    TERN_TRY(tern__ccl_option(ccl));
    uint64_t enough = (bytes + SLICE - 1) / SLICE * SLICE;
    enough = enough > 0 ? enough : SLICE;
    *ccl = enough < *ccl ? enough : *ccl;
    return TERN_OK;
}

int tern__executor_plan(const tern_algo_request *asked, tern_plan **plan)
{
    tern_check *check = NULL;
    tern_record_request request = {.library = library(),
                                   .executor = asked->algorithm,
                                   .kind = asked->kind,
                                   .bytes = asked->bytes,
                                   .unit = asked->unit,
                                   .root = asked->root,
                                   .topo = asked->topo};
    tern_plan *made = NULL;
    if (asked->order == TERN_ORDER_RANK && tern_coll_kind_facts(asked->kind)->sums) {
        return tern__fail(TERN_ERR_ARG,
                          "the sums of executors are not in the order of the ranks; .order = "
                          "TERN_ORDER_ANY allows that");
    }
    TERN_TRY(ccl_bytes(asked->bytes, &request.ccl_bytes));
    int status = tern_record_plan(&request, &made);
    status = status == TERN_OK ? tern_check_plan(made, asked->topo, &check) : status;
    if (status == TERN_OK && !tern_check_proved(check)) {
        status = tern__fail(TERN_ERR_ARG,
                            "the plan of the executor '%s' for %llu bytes is refuted; tern plan "
                            "--executor writes it, tern check says why",
                            asked->algorithm, (unsigned long long)asked->bytes);
    }
    tern_check_destroy(check);
    status = status == TERN_OK ? tern_check_quicken(&made, asked->topo) : status;
    if (status != TERN_OK) {
        tern_plan_destroy(made);
        return status;
    }
    *plan = made;
    return TERN_OK;
}
