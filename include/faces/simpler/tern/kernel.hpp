// SPDX-License-Identifier: Apache-2.0
// `tern kernel-cc --runtime` puts this before each source: how a chip calls kernel_entry of that
// shared object. An instruction that tern refuses ends the kernel and fails the run, in its words.
#ifndef TERN_FACES_SIMPLER_TERN_KERNEL_HPP
#define TERN_FACES_SIMPLER_TERN_KERNEL_HPP

#include <exception>

#include "tern/graph.h"

// By another name: sources define kernel_entry as they like, also as always_inline, which a
// function that is declared weak cannot be. There may be none: then this is an orchestration's, and
// nobody calls it.
extern "C" __attribute__((weak)) void tern_simpler_entry(int64_t *args) __asm__("kernel_entry");

extern "C" __attribute__((weak, used, visibility("default"))) void
tern_simpler_kernel(int64_t *args)
{
    try {
        tern_simpler_entry(args);
    } catch (const std::exception &exception) {
        tern_kernel_fail("%s", exception.what());
    } catch (...) {
        tern_kernel_fail("the kernel threw what is no std::exception");
    }
}

#endif
