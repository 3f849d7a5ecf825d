// SPDX-License-Identifier: Apache-2.0
// Inside of a certificate.
#ifndef TERN_OPTIMAL_CERTIFICATE_H
#define TERN_OPTIMAL_CERTIFICATE_H

#include "plan/optimal/graph.h"
#include "tern/certificate.h"

#define TERN__PRICE_MAX (INT64_C(1) << 40)
#define TERN__PRICES_MAX 65536 // lines of a certificate
#define TERN__PRICE_NAME_BYTES 64

// A price of a link, or of a resource by its name.
struct tern__price_line {
    int from, to; // -1: a resource
    char name[TERN__PRICE_NAME_BYTES];
    int64_t price;
};

struct tern_certificate {
    tern_plan_kind kind;
    int ranks, root;
    tern_certificate_scope scope;
    char *topology; // in words, for people; NULL: not said
    struct tern__price_line *lines;
    int count, room;
};

int tern__certificate_add(tern_certificate *certificate, const struct tern__price_line *line);

// prove.c: the bound of the plans in a scope at prices of the graph's resources, as a time in bytes
// of the plan over the fastest link's bandwidth. Uses no solver. 0 when all prices are.
double tern__certificate_bound(const struct tern__net_graph *graph, const int64_t *prices,
                               tern_plan_kind kind, int root, tern_certificate_scope scope);

// The narrowest scope of the plans that a request can get.
tern_certificate_scope tern__certificate_narrow(tern_plan_kind kind, tern_order order,
                                                uint32_t unit);

// The word of a scope, and its sentence.
const char *tern__certificate_scope_word(tern_certificate_scope scope);

#endif
