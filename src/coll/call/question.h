// SPDX-License-Identifier: Apache-2.0
// What args.c and select.c say of a call that nobody makes. Set-up path.
#ifndef TERN_COLL_CALL_QUESTION_H
#define TERN_COLL_CALL_QUESTION_H

#include "coll/call/call.h"

// The call, on a communicator that does not exist, as the root would make it, with its plans; and
// the choice they come from.
struct tern__question {
    struct tern__calls calls;
    struct tern_comm comm;
    struct tern__ctl_comm shared;
    struct tern__coll call;
    struct tern__choice choice;
};

// name: of the public function, for sentences. Where in and out of the call are does not matter,
// but whether they overlap. Errors: those that the call itself would have.
int tern__question_ask(const char *name, const tern_coll *call, int nranks,
                       struct tern__question **question);
void tern__question_free(struct tern__question *question);

#endif
