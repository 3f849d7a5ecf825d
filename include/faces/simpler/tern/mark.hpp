// SPDX-License-Identifier: Apache-2.0
// By which name a host knows what an orchestration was written for.
#ifndef TERN_FACES_SIMPLER_TERN_MARK_HPP
#define TERN_FACES_SIMPLER_TERN_MARK_HPP

// A symbol of the shared object, once for all sources that include the same header.
#define TERN_SIMPLER_MARK(name)                                                                    \
    extern "C" __attribute__((weak, used, visibility("default"))) void name()                      \
    {                                                                                              \
    }                                                                                              \
    static_assert(true, "")

#endif
