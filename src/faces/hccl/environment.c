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

enum meaning { READ, SECONDS, START, WORD, NOTHING };

static const struct variable {
    const char *name;
    enum meaning meaning;
    const char *text;
} variables[] = {
#define HCCL_VARIABLE(name, meaning, text) {name, meaning, text},
#include "faces/hccl/environment.def"
#undef HCCL_VARIABLE
};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

// In seconds. HCCL's own least is 120, too long for a test of what happens then.
enum { SECONDS_MAX = 2147483647, START_LEAST = 1, START_MOST = 7200, START_DEFAULT = 120 };

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

static HcclResult read_seconds(const char *call, const struct variable *variable, const char *value,
                               struct tern__deadlines *deadlines)
{
    const bool start = variable->meaning == START;
    long seconds = 0;
    if (tern__parse_integer(value, start ? START_LEAST : 0, start ? START_MOST : SECONDS_MAX,
                            &seconds) != 0) {
        return start ? tern__hccl_refuse(call, HCCL_E_PARA,
                                         "%s is '%.40s'; it must be a number of seconds from %d to "
                                         "%d",
                                         variable->name, value, START_LEAST, START_MOST)
                     : tern__hccl_refuse(
                           call, HCCL_E_PARA,
                           "%s is '%.40s'; it must be a number of seconds, 0 for no end",
                           variable->name, value);
    }
    *(start ? &deadlines->start_ns : &deadlines->waits_ns) =
        seconds == 0 ? TERN_TIMEOUT_NEVER : INT64_C(1000000000) * seconds;
    return HCCL_SUCCESS;
}

// What is still 0.
static HcclResult fill(const char *call, struct tern__deadlines *deadlines)
{
    const char *text = getenv("TERN_TIMEOUT");
    int64_t default_ns = 0;
    int status = tern__timeout_option(0, &default_ns);
    if (status != TERN_OK) {
        return tern__hccl_refuse(call, HCCL_E_PARA, "%s", tern_last_error());
    }
    if (deadlines->waits_ns == 0) {
        deadlines->waits_ns = default_ns;
    }
    if (deadlines->start_ns == 0) {
        bool said = text != NULL && *text != '\0';
        deadlines->start_ns = said ? default_ns : INT64_C(1000000000) * START_DEFAULT;
    }
    return HCCL_SUCCESS;
}

HcclResult tern__hccl_environment(const char *call, struct tern__deadlines *deadlines)
{
    *deadlines = (struct tern__deadlines){0};
    for (int i = 0; i < VARIABLES; i++) {
        const struct variable *variable = &variables[i];
        const char *value = getenv(variable->name);
        if (value == NULL || *value == '\0') {
            continue;
        }
        if (variable->meaning == SECONDS || variable->meaning == START) {
            HcclResult result = read_seconds(call, variable, value, deadlines);
            if (result != HCCL_SUCCESS) {
                return result;
            }
        }
        if (variable->meaning == WORD && !has_word(variable->text, value)) {
            return tern__hccl_refuse(call, HCCL_E_PARA, "%s is '%.40s'; there are: %s",
                                     variable->name, value, variable->text);
        }
    }
    warn();
    return fill(call, deadlines);
}
