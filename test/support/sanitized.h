// SPDX-License-Identifier: Apache-2.0
// Under a sanitizer all takes several times as long: what is random there is drawn less often.
#ifndef TERN_TEST_SUPPORT_SANITIZED_H
#define TERN_TEST_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

// So many rounds; a fifth of them under a sanitizer.
#define ROUNDS_OF(rounds) (SANITIZED ? ((rounds) + 4) / 5 : (rounds))

#endif
