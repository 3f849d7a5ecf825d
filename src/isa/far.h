// SPDX-License-Identifier: Apache-2.0
// Views of memory on other machines: what can be done with them.
#ifndef TERN_ISA_FAR_H
#define TERN_ISA_FAR_H

#include "isa/view.h"

// to = from, for all elements of `from`; one of them is far, and the other is not. Of each row that
// is put, the first element becomes visible last.
void tern__far_copy(const struct tern__view *to, const struct tern__view *from);

// The sentence for who needs an address.
int tern__far_refuse(const char *call, const char *name, const struct tern__view *view);

// Makes a view one of a copy here, with the same strides; the caller frees *memory, in any case.
int tern__far_fetch(const char *call, struct tern__view *view, char **memory);

// After transfers: TERN_OK, or why the bytes have not gone.
static inline int tern__far_sent(const struct tern__view *to, const struct tern__view *from)
{
    if (__builtin_expect(to->far, 0)) {
        return tern__window_sent(to->window, to->rank);
    }
    return __builtin_expect(from->far, 0) ? tern__window_sent(from->window, from->rank) : TERN_OK;
}

#endif
