// SPDX-License-Identifier: Apache-2.0
// Topologies of tests. What cannot be made fails the test with tern's sentence. After cmocka.h.
#ifndef TERN_TEST_TOPO_H
#define TERN_TEST_TOPO_H

#include <stdio.h>
#include <string.h>

#include "tern/status.h"
#include "tern/topo.h"

static inline tern_topo *topo_make(const char *word)
{
    tern_topo *topo = NULL;
    if (tern_topo_create(word, &topo) != TERN_OK) {
        fail_msg("%s: %s", word, tern_last_error());
    }
    return topo;
}

// Without some of its links ("0-1", "1>0"); NULL: with all.
static inline tern_topo *topo_make_cut(const char *word, const char *cut)
{
    tern_topo *topo = topo_make(word);
    if (cut != NULL && tern_topo_cut(topo, cut) != TERN_OK) {
        fail_msg("%s without %s: %s", word, cut, tern_last_error());
    }
    return topo;
}

static inline void topo_expect_resource(const tern_topo *topo, int index, const char *name,
                                        double GBps)
{
    tern_topo_resource resource;
    assert_true(tern_topo_get_resource(topo, index, &resource));
    assert_string_equal(resource.name, name);
    assert_true(resource.GBps == GBps);
}

#endif
