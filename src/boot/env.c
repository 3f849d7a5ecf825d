// SPDX-License-Identifier: Apache-2.0
// Job tokens: 128 random bits, as text in the environment.

#include "boot/env.h"

#include <string.h>
#include <sys/random.h>

#include "base/error.h"

void tern__token_write(const uint8_t token[16], char text[33])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[2 * i] = digits[token[i] >> 4];
        text[2 * i + 1] = digits[token[i] & 15];
    }
    text[32] = '\0';
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

int tern__token_read(const char *text, uint8_t token[16])
{
    if (text == NULL || strlen(text) != 32) {
        return -1;
    }
    for (int i = 0; i < 16; i++) {
        int high = digit_value(text[2 * i]);
        int low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return -1;
        }
        token[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}

int tern__token_random(uint8_t token[16])
{
    if (getrandom(token, 16, 0) != 16) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "getrandom");
    }
    return TERN_OK;
}
