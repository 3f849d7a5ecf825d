// SPDX-License-Identifier: Apache-2.0
// A second user, for tests of what users may do to one another.
#ifndef TERN_TEST_USER_H
#define TERN_TEST_USER_H

#include <sys/types.h>

#define USER_OTHER 4242 // has a number also where a container gives a user a small range only

// Becomes that user for good, with no groups. 0, or -1 when this process may not.
int user_become(uid_t uid);

// Skips the test, with a reason, when this process cannot become USER_OTHER.
void user_other_or_skip(void);

#endif
