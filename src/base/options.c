// SPDX-License-Identifier: Apache-2.0
// Reading options strictly.

#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "tern/comm.h"

int tern__parse_integer(const char *text, long low, long high, long *value)
{
    if (text == NULL || *text == '\0' || (*text != '-' && (*text < '0' || *text > '9'))) {
        return -1;
    }
    char *end = NULL;
    errno = 0;
    long parsed = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || parsed < low || parsed > high) {
        return -1;
    }
    *value = parsed;
    return 0;
}

// Digits with at most one point. Not strtod: that also takes blanks, hexadecimals and names, and in
// some locales wants a comma.
static bool parse_decimal(const char *text, double *value)
{
    double number = 0;
    double unit = 1;
    bool digits = false;
    bool point = false;
    for (; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9') {
            number = number * 10 + (*text - '0');
            unit *= point ? 10 : 1;
            digits = true;
        } else {
            return false;
        }
    }
    *value = number / unit;
    return digits;
}

// A variable that is a number of seconds above 0; or_word: what else it may be.
static int seconds_option(const char *name, const char *or_word, int64_t standard_ns, int64_t *ns)
{
    const char *text = getenv(name);
    if (text == NULL || *text == '\0') {
        *ns = standard_ns;
        return TERN_OK;
    }
    double seconds;
    if (!parse_decimal(text, &seconds) || !(seconds > 0) || !(seconds <= 1e9)) {
        return tern__fail(TERN_ERR_ARG,
                          "%s is '%s'; it must be a number of seconds above 0, such as 60 or 0.5%s",
                          name, text, or_word);
    }
    double nanoseconds = seconds * (double)TERN_NS_PER_SECOND;
    *ns = nanoseconds < 1 ? 1 : (int64_t)nanoseconds;
    return TERN_OK;
}

static int seconds_or_never(const char *name, int64_t never_ns, int64_t standard_ns, int64_t *ns)
{
    const char *text = getenv(name);
    if (text != NULL && strcmp(text, "never") == 0) {
        *ns = never_ns;
        return TERN_OK;
    }
    return seconds_option(name, ", or never", standard_ns, ns);
}

int tern__timeout_option(int64_t given_ns, int64_t *timeout_ns)
{
    if (given_ns > 0) {
        *timeout_ns = given_ns;
        return TERN_OK;
    }
    if (given_ns < 0) {
        return tern__fail(TERN_ERR_ARG,
                          "timeout_ns is %lld; a deadline is positive, or 0 for the "
                          "default",
                          (long long)given_ns);
    }
    return seconds_or_never("TERN_TIMEOUT", TERN_TIMEOUT_NEVER, TERN_DEFAULT_TIMEOUT_NS,
                            timeout_ns);
}

int tern__stall_option(int64_t *stall_ns)
{
    return seconds_or_never("TERN_STALL", INT64_MAX, TERN_DEFAULT_STALL_NS, stall_ns);
}

int tern__net_timeout_option(int64_t *timeout_ns)
{
    return seconds_option("TERN_NET_TIMEOUT", "", TERN_DEFAULT_NET_TIMEOUT_NS, timeout_ns);
}

int tern__dump_option(enum tern__dump *dump)
{
    static const char *const words[] = {
        [TERN__DUMP_OWN] = "own", [TERN__DUMP_ALL] = "all", [TERN__DUMP_NONE] = "none"};
    const char *text = getenv("TERN_CORE");
    *dump = TERN__DUMP_OWN;
    if (text == NULL || *text == '\0') {
        return TERN_OK;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *dump = (enum tern__dump)i;
            return TERN_OK;
        }
    }
    return tern__fail(
        TERN_ERR_ARG,
        "TERN_CORE is '%.40s'; it must be own, all or none: the parts of windows that "
        "a core dump contains",
        text);
}

int tern__direct_option(uint64_t *from)
{
    const char *text = getenv("TERN_DIRECT");
    long bytes;
    if (text == NULL || *text == '\0' || strcmp(text, "on") == 0) {
        *from = TERN__DIRECT_ON;
    } else if (strcmp(text, "off") == 0) {
        *from = TERN__DIRECT_OFF;
    } else if (tern__parse_integer(text, 1, LONG_MAX, &bytes) == 0) {
        *from = (uint64_t)bytes;
    } else {
        return tern__fail(TERN_ERR_ARG,
                          "TERN_DIRECT is '%.40s'; it must be on, off, or a number of bytes: from "
                          "which size on ranks read each other's ordinary memory",
                          text);
    }
    return TERN_OK;
}

int tern__ccl_option(uint64_t *bytes)
{
    const char *text = getenv("HCCL_BUFFSIZE");
    long mib = 200; // TERN_RECORD_CCL_MIB
    if (text != NULL && *text != '\0' && tern__parse_integer(text, 1, 1L << 20, &mib) != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "HCCL_BUFFSIZE is '%.40s'; it must be a number of MiB from 1 on", text);
    }
    *bytes = (uint64_t)mib << 20;
    return TERN_OK;
}
