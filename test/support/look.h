// SPDX-License-Identifier: Apache-2.0
// What this process holds, and what tern's last sentence says: for bodies of ranks (CHECK) and for
// cmocka (assert_true).
#ifndef TERN_TEST_LOOK_H
#define TERN_TEST_LOOK_H

#include <stdbool.h>

// Whether tern_last_error() contains the words.
bool look_says(const char *words);

// Whether a call returned this and left a sentence that contains the words; if not, prints both.
bool says(int status, int wanted, const char *words);

// The same of TERN_ERR_PEER and the death of a rank, here or on another machine.
bool says_died(int status, int rank);

// Open descriptors of this process; mappings of it that carry the name of a memfd of tern.
int look_fds(void);
int look_maps(void);

// Mappings of this process of files in /dev/shm. (What the folder holds says nothing: other
// programs, and tests that run at the same time, come and go there.)
int look_shm(void);

// A number of kibibytes from /proc/self/status ("VmRSS:") or /proc/meminfo ("MemAvailable:").
long look_kib(const char *key);

#endif
