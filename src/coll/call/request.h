// SPDX-License-Identifier: Apache-2.0
// A request is a number: place in a table, and how often the place was used, so that one that was
// freed is known as such.
#ifndef TERN_COLL_CALL_REQUEST_H
#define TERN_COLL_CALL_REQUEST_H

#include "coll/call/mail.h"

enum { TERN__REQUESTS_MAX = 262144 }; // of a process

enum tern__request_state { TERN__REQUEST_FREE, TERN__REQUEST_IDLE, TERN__REQUEST_RUNNING };

struct tern__request {
    _Atomic uint32_t uses; // odd while it is taken
    enum tern__request_state state;
    bool persistent, is_message;
    uint32_t index;
    tern_comm *comm;
    tern_coll asked;
    struct tern__request *next_free;
    union {
        struct tern__coll call;
        struct tern__message message;
    };
};

// request_table.c: an empty place, NULL when there is none; and back to the table. Any thread.
struct tern__request *tern__request_take(tern_comm *comm);
void tern__request_give_back(struct tern__request *request);
tern_request tern__request_number(const struct tern__request *request);

// NULL, with a sentence, for a number that is no request, or no more. No lock.
struct tern__request *tern__request_find(const char *name, tern_request number);

#endif
