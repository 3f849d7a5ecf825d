// SPDX-License-Identifier: Apache-2.0
// A fault at an address of a window: whose memory it was.

#include "comm/fault.h"

#include "base/fault.h"
#include "comm/registry.h"
#include "comm/window.h"

static void name_address(struct tern__fault *fault)
{
    const char *address = fault->info->si_addr;
    tern_window *window;
    if (fault->info->si_code <= 0 || (fault->number != SIGSEGV && fault->number != SIGBUS) ||
        !tern__registry_find(address, &window)) {
        return;
    }
    size_t at = (size_t)(address - window->base);
    int rank = (int)(at / window->size_bytes);
    if (tern__window_is_mapped(window, rank)) {
        return;
    }
    tern__fault_add(fault, "tern: rank ");
    tern__fault_add_number(fault, (uint64_t)window->rank);
    tern__fault_add(fault, " touched byte ");
    tern__fault_add_number(fault, at % window->size_bytes);
    tern__fault_add(fault, " of rank ");
    tern__fault_add_number(fault, (uint64_t)rank);
    if (window->heap) {
        tern__fault_add(fault, "'s memory of tern_alloc");
    } else {
        tern__fault_add(fault, "'s part of window ");
        tern__fault_add_number(fault, window->number);
    }
    if (window->comm->group.slot != 0) {
        tern__fault_add(fault, " of communicator ");
        tern__fault_add_number(fault, (uint64_t)window->comm->group.slot);
    }
    tern__fault_add(fault, ", which is on machine ");
    tern__fault_add(fault, tern__window_machine(window, rank));
    tern__fault_add(fault, window->heap ? ": a window reaches other machines\n"
                                        : ": put, get and notify reach it\n");
}

void tern__fault_watch_windows(void)
{
    tern__fault_watch(name_address);
}

void tern__fault_unwatch_windows(void)
{
    tern__fault_unwatch(name_address);
}
