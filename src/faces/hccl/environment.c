// SPDX-License-Identifier: Apache-2.0
// HCCL's environment: read when a communicator is made. What has no meaning here is named once in a
// process, in one line of the log. Set-up path.

#include "faces/hccl/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/order.h"

enum meaning { READ, SECONDS, WORD, NOTHING };

static const struct variable {
    const char *name;
    enum meaning meaning;
    const char *text;
} variables[] = {
#define HCCL_VARIABLE(name, meaning, text) {name, meaning, text},
#include "faces/hccl/environment.def"
#undef HCCL_VARIABLE
};

enum { VARIABLES = sizeof variables / sizeof variables[0], SECONDS_MAX = 2147483647 };

static void warn(void)
{
    static _Atomic uint32_t warned;
    char names[900] = "";
    size_t at = 0;
    for (int i = 0; i < VARIABLES && at < sizeof names; i++) {
        const struct variable *variable = &variables[i];
        if (variable->meaning == NOTHING && getenv(variable->name) != NULL) {
            bool has = variable->text[0] != '\0';
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s%s%s%s", at > 0 ? ", " : "",
                                   variable->name, has ? " (here " : "", variable->text,
                                   has ? ")" : "");
        }
    }
    if (at > 0 && tern__flag_swap(&warned, 0, 1)) {
        tern__log(TERN__LOG_WARN, "HCCL: set, but without a meaning here: %s", names);
    }
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    const char *found = length > 0 && strchr(word, ' ') == NULL ? strstr(words, word) : NULL;
    return found != NULL && (found == words || found[-1] == ' ') &&
           (found[length] == ' ' || found[length] == '\0');
}

HcclResult tern__hccl_environment(const char *call, int64_t *timeout_ns)
{
    *timeout_ns = 0;
    for (int i = 0; i < VARIABLES; i++) {
        const struct variable *variable = &variables[i];
        const char *value = getenv(variable->name);
        long seconds = 0;
        if (value == NULL || *value == '\0') {
            continue;
        }
        if (variable->meaning == SECONDS &&
            tern__parse_integer(value, 0, SECONDS_MAX, &seconds) != 0) {
            return tern__hccl_refuse(call, HCCL_E_PARA,
                                     "%s is '%.40s'; it must be a number of seconds, 0 for no end",
                                     variable->name, value);
        }
        if (variable->meaning == SECONDS) {
            *timeout_ns = seconds == 0 ? INT64_MAX : INT64_C(1000000000) * seconds;
        }
        if (variable->meaning == WORD && !has_word(variable->text, value)) {
            return tern__hccl_refuse(call, HCCL_E_PARA, "%s is '%.40s'; there are: %s",
                                     variable->name, value, variable->text);
        }
    }
    warn();
    return HCCL_SUCCESS;
}
