// SPDX-License-Identifier: Apache-2.0
// The topologies that the tests of algorithms use.
#ifndef TERN_COLL_TEST_MESH_H
#define TERN_COLL_TEST_MESH_H

#include "support/cmocka.h"
#include <stdio.h>

#include "support/topo.h"
#include "tern/status.h"
#include "tern/topo.h"

// Every link there, but for those between a pair ("0-1"); cut NULL: all.
static inline tern_topo *mesh(int nranks, const char *cut)
{
    char word[32];
    snprintf(word, sizeof word, "mesh:%d", nranks);
    return topo_make_cut(word, cut);
}

#endif
