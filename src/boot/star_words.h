// SPDX-License-Identifier: Apache-2.0
// What is said in a gathering of boot/star.h, over links.
#ifndef TERN_BOOT_STAR_WORDS_H
#define TERN_BOOT_STAR_WORDS_H

#include "boot/star.h"

enum tern__star_word {
    TERN__STAR_COME = 1, // rank; value: how many there are; payload: the token, and what it gives
    TERN__STAR_IN,       // the host has taken it in; number: bit r: rank r has not come yet
    TERN__STAR_ALL,      // payload: what all have given
    TERN__STAR_REFUSED,  // value: a status; payload: the sentence
};

enum {
    TERN__STAR_TOKEN_BYTES = 16,
    // How soon after one attempt to reach somebody the next may begin.
    TERN__STAR_RETRY_MS = 50,
    // How often it is looked whether the program wants the call to end.
    TERN__STAR_LOOK_MS = 100,
};

// star_hub.c. The host's side.
int tern__star_host(const struct tern__star *star, const void *mine, size_t bytes, void *all,
                    int64_t timeout_ns);

// star_words.c. "rank 1 on machine b (10.77.0.2:4711)", as far as it is known; -1: the host.
struct tern__star_name {
    char text[TERN__MACHINE_NAME_BYTES + 100];
};
struct tern__star_name tern__star_name(const struct tern__star *star, int rank);

// It has said nothing for as long as it may; and it had come, and its connection has ended.
int tern__star_silent(const struct tern__star *star, int rank);
int tern__star_parted(const struct tern__star *star, int rank);

// "cannot reach rank 1 on …: Connection refused", with what that means.
int tern__star_unreached(const struct tern__star *star, int rank, int error);

// The deadline has passed, and these (bit r: rank r) have not come.
int tern__star_timed_out(const struct tern__star *star, uint64_t missing, int64_t timeout_ns);

// The program wants the call to end.
int tern__star_interrupted(const struct tern__star *star);

#endif
