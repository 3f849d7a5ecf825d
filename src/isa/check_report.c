// SPDX-License-Identifier: Apache-2.0
// Whether checking mode is on, what it keeps of a block, and its reports. All of the thread alone,
// but the mode.

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/public.h"
#include "comm/checking.h"
#include "isa/block.h"
#include "isa/check.h"

enum { REPORTS = 64 };

struct reports {
    uint32_t sites[REPORTS]; // of the last ones
    unsigned count;
    char first[TERN_ERROR_BYTES];
};

_Atomic uint32_t tern__watch_mode;

static _Thread_local void *kept[TERN__WATCH_MEMORIES];
static pthread_key_t at_end;

static void free_kept(void *memories)
{
    void **memory = memories;
    for (int i = 0; i < TERN__WATCH_MEMORIES; i++) {
        free(memory[i]);
        memory[i] = NULL;
    }
}

static void make_key(void)
{
    pthread_key_create(&at_end, free_kept);
}

void *tern__watch_memory(enum tern__watch_memory which, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (kept[which] == NULL && bytes > 0) {
        pthread_once(&once, make_key);
        kept[which] = calloc(1, bytes);
        pthread_setspecific(at_end, kept);
    }
    return kept[which];
}

bool tern__watch_in_kernel(void)
{
    return tern__block_here()->kernel != NULL;
}

// Of a call that was refused.
static const char *place_here(void)
{
    return tern__watch_in_kernel() ? tern__watch_site_text(tern__watch_site()) : NULL;
}

bool tern__watch_asked(void)
{
    if (tern__peek(&tern__watch_mode) == TERN__WATCH_UNKNOWN) { // several threads: all the same
        bool asked = tern__checking_asked();
        tern__public_find_place(asked ? place_here : NULL);
        tern__poke(&tern__watch_mode, asked ? TERN__WATCH_ON : TERN__WATCH_OFF);
    }
    return tern__peek(&tern__watch_mode) == TERN__WATCH_ON;
}

static bool is_new(struct reports *all, uint32_t site)
{
    for (unsigned i = 0; i < all->count && i < REPORTS; i++) {
        if (all->sites[i] == site) {
            return false;
        }
    }
    all->sites[all->count++ % REPORTS] = site;
    return true;
}

void tern__watch_report(uint32_t site, const char *format, ...)
{
    char text[TERN_ERROR_BYTES];
    const struct tern__block *block = tern__block_here();
    struct reports *all = tern__watch_memory(TERN__WATCH_REPORTS, sizeof *all);
    if (all != NULL && !is_new(all, site)) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (all != NULL && all->count == 1) {
        snprintf(all->first, sizeof all->first, "%s: %s", tern__watch_site_text(site), text);
    }
    fprintf(stderr, "tern check: %s: kernel '%s', block %d: %s\n", tern__watch_site_text(site),
            block->kernel != NULL ? block->kernel : "none", block->index, text);
}

int tern__watch_forget(int status)
{
    const struct reports *all = tern__watch_memory(TERN__WATCH_REPORTS, 0);
    if (status >= 0 && all != NULL && all->count > 0) {
        status = tern__fail(TERN_ERR_KERNEL, "%s (of %u reports of checking mode)", all->first,
                            all->count);
    }
    free_kept(kept);
    return status;
}
