// SPDX-License-Identifier: Apache-2.0
// Certificates: the proof that no plan of a kind on a topology can take less than some time, which
// anybody can check. A certificate is a price, a whole number, for bytes on each link and on each
// resource that links share. However a plan moves its bytes, they pay at least the length of the
// shortest trees or paths at these prices; and in a time T a link of bandwidth B cannot take more
// than T * B bytes, so no more is paid than T times the sum of bandwidth times price. Both sides
// are worked out from the topology alone; a wrong certificate proves less, never too much.
//
// One thread at a time for each certificate that is made or loaded; any thread may check it then.
#ifndef TERN_CERTIFICATE_H
#define TERN_CERTIFICATE_H

#include "tern/algo.h"

TERN_BEGIN_DECLS

typedef struct tern_certificate tern_certificate;

// Which plans a bound is for.
typedef enum tern_certificate_scope {
    TERN_CERTIFICATE_ALL_PLANS,
    // Plans that sum each byte on a tree into one rank and send it out on a tree. That no other
    // plan is better is a conjecture where links differ in their two directions.
    TERN_CERTIFICATE_TREE_PLANS,
    // Plans that bring the inputs as they are to one rank for each byte, which sums them in rank
    // order.
    TERN_CERTIFICATE_RANK_ORDER_PLANS,
    // Also plans that sum in rank order on the way: for each byte and each k the sum of the inputs
    // of ranks 0 to k is made on one rank, of the sum before it and the input of rank k.
    TERN_CERTIFICATE_PREFIX_PLANS,
} tern_certificate_scope;

// What a certificate proves, without start-up.
typedef struct tern_certificate_proof {
    tern_plan_kind kind;
    int root; // 0 for kinds without one
    tern_certificate_scope scope;
    double us_per_byte;     // of the plan's bytes: the least time of the plans in its scope
    double us_per_byte_all; // of all plans; less, if the scope is narrower
    char text[256];         // a sentence
} tern_certificate_proof;

// Finds the best certificate for the kind, topology, root and order of a request; where that takes
// longer than its search may (search->seconds), what was proved until then. Errors as of the
// planner: TERN_ERR_STATE without GLPK, TERN_ERR_LIMIT for too many ranks, TERN_ERR_ARG where links
// do not connect the ranks, TERN_ERR_TIMEOUT where nothing was proved in time.
TERN_CALL int tern_certificate_make(const tern_algo_request *request,
                                    tern_certificate **certificate);
TERN_API int tern_certificate_destroy(tern_certificate *certificate); // NULL is allowed

// The text form: docs/planner.md. Saving to "-" prints it.
TERN_CALL int tern_certificate_save(const tern_certificate *certificate, const char *path);
TERN_CALL int tern_certificate_load(const char *path, tern_certificate **certificate);

// Works out what a certificate proves on a topology. TERN_ERR_ARG when it is for another number of
// ranks, or has a price for a link or a resource that is not there.
TERN_CALL int tern_certificate_check(const tern_certificate *certificate, const tern_topo *topo,
                                     tern_certificate_proof *proof);

TERN_END_DECLS

#endif
