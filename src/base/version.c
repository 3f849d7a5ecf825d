// SPDX-License-Identifier: Apache-2.0
// The version of the library, for programs that find it only when they run (tern/machine.h).
#include "tern/machine.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *tern_version(void)
{
    return TEXT(TERN_VERSION_MAJOR) "." TEXT(TERN_VERSION_MINOR) "." TEXT(TERN_VERSION_PATCH);
}
