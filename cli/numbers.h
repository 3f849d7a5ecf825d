// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and durations, as commands read and print them. Signs, spaces, hexadecimal digits
// and whatever else C would read are refused: a typing error must not pass for a value.
#ifndef TERN_CLI_NUMBERS_H
#define TERN_CLI_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The readers return whether the text is such a value from `least` to `most`; if not, nothing is
// written.

bool cli_read_number(const char *text, long least, long most, long *number);

// The first `length` letters of a text: digits, then nothing or K, M, G, which are binary.
bool cli_read_bytes(const char *text, size_t length, uint64_t most, uint64_t *bytes);

// "8,64K,1M": up to `room` sizes above 0.
bool cli_read_sizes(const char *list, uint64_t most, uint64_t *sizes, int room, int *count);

// Decimals are allowed.
bool cli_read_seconds(const char *text, double least, double most, double *seconds);

// "64 KiB", or in bytes what is no multiple; in `text`, which is returned.
const char *cli_bytes_text(uint64_t bytes, char text[32]);

#endif
