// SPDX-License-Identifier: Apache-2.0
// Any bytes: refused with a sentence that names a place, or a plan whose text is parsed to the same
// plan and printed as the same bytes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/test/same.h"
#include "tern/plan.h"

static void must(bool true_here)
{
    if (!true_here) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern_plan *plan = NULL;
    if (tern_plan_parse(size > 0 ? (const char *)data : "", size, "fuzz", &plan) < 0) {
        must(plan == NULL && strncmp(tern_last_error(), "fuzz:", 5) == 0);
        return 0;
    }
    // No plan is much larger than its text.
    must(tern_plan_memory(plan) <= 8 * size + 65536);
    char *text;
    char *text_again;
    size_t length;
    size_t length_again;
    tern_plan *again;
    must(tern_plan_print(plan, &text, &length) == TERN_OK);
    must(tern_plan_parse(text, length, "printed", &again) == TERN_OK);
    must(same_plans(plan, again));
    must(tern_plan_print(again, &text_again, &length_again) == TERN_OK);
    must(length == length_again && memcmp(text, text_again, length) == 0);
    free(text);
    free(text_again);
    tern_plan_destroy(plan);
    tern_plan_destroy(again);
    return 0;
}
