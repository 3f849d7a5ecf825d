// SPDX-License-Identifier: Apache-2.0
// Numbers, read and written strictly. strtod alone would also take blanks, hexadecimals, "nan" and,
// in some locales, a comma: so the grammar (JSON's) is checked first, and the locale is "C".

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "topo/topo.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at)) {
        at++;
    }
    return at;
}

// Behind a whole number, or NULL.
static const char *skip_whole(const char *at)
{
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1]))) {
        return NULL;
    }
    return skip_digits(at);
}

bool tern__topo_read_whole(const char **at, int *value)
{
    const char *stop = skip_whole(*at);
    if (stop == NULL) {
        return false;
    }
    int number = 0;
    for (const char *digit = *at; digit < stop; digit++) {
        int more = *digit - '0';
        number = number > (INT_MAX - more) / 10 ? INT_MAX : number * 10 + more;
        if (number == INT_MAX) {
            break;
        }
    }
    *at = stop;
    *value = number;
    return true;
}

// Behind a number, or NULL.
static const char *skip_number(const char *at)
{
    at = skip_whole(*at == '-' ? at + 1 : at);
    if (at != NULL && *at == '.') {
        at = is_digit(at[1]) ? skip_digits(at + 1) : NULL;
    }
    if (at != NULL && (*at == 'e' || *at == 'E')) {
        at += at[1] == '-' || at[1] == '+' ? 2 : 1;
        at = is_digit(*at) ? skip_digits(at) : NULL;
    }
    return at;
}

bool tern__topo_read_number(const char **at, double *value)
{
    const char *stop = skip_number(*at);
    locale_t plain = stop != NULL ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    if (plain == (locale_t)0) {
        return false;
    }
    char *end = NULL;
    double number = strtod_l(*at, &end, plain);
    freelocale(plain);
    if (end != stop) {
        return false; // "0x10": to us a 0 and junk
    }
    *at = stop;
    *value = number;
    return true;
}

void tern__topo_write_number(double value, char text[32])
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(plain); // a failed newlocale (0) changes nothing
    double again = -1;
    for (int digits = 1; digits <= 17 && !(again == value); digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        again = strtod(text, NULL);
    }
    uselocale(before);
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
}
