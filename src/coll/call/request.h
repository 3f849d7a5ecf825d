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
    bool keeps; // while a thread waits for one of many: it keeps its work because of this one
    uint32_t index;
    tern_comm *comm;
    tern_coll asked;
    struct tern__request *next_free;
    union {
        struct tern__coll call;
        struct tern__message message;
    };
};

// request_table.c: an empty place, or why there is none; and back to the table. Any thread.
int tern__request_take(const char *name, tern_comm *comm, struct tern__request **taken);
void tern__request_give_back(struct tern__request *request);
tern_request tern__request_number(const struct tern__request *request);

// NULL, with a sentence, for a number that is no request, or no more. No lock.
struct tern__request *tern__request_find(const char *name, tern_request number);

// The two things a request can be.

static inline struct tern__work *tern__request_work(const struct tern__request *request)
{
    return request->is_message ? &request->message.endpoint->work : &request->call.calls->work;
}

static inline const tern__done *tern__request_done(const struct tern__request *request)
{
    return request->is_message ? &request->message.done : &request->call.done;
}

static inline bool tern__request_is_done(const struct tern__request *request)
{
    return tern__flag_load(tern__request_done(request)) != 0; // partner: tern__work_done
}

static inline int64_t tern__request_timeout(const struct tern__request *request)
{
    return request->is_message ? request->message.timeout_ns : request->call.timeout_ns;
}

static inline int tern__request_status(const struct tern__request *request)
{
    return request->is_message ? request->message.status : request->call.status;
}

// For tern__awaited.what.
static inline const void *tern__request_what(const struct tern__request *request)
{
    return request->is_message ? (const void *)&request->message : &request->call;
}

// request.c: 0 when it is running, 1 when it counts as ended, or what is wrong with the number.
int tern__request_look(const char *name, tern_request *number, struct tern__request **request);

// It has ended: its status, with its sentence; it is idle again or gone.
int tern__request_finish(struct tern__request *request, tern_request *number);

// In its turn: it fails, and with it all of its communicator.
void tern__request_fail(struct tern__request *request, int status);

#endif
