// SPDX-License-Identifier: Apache-2.0
// send and recv from inside. Messages from one rank to another go through the receiver's mailbox, in
// pieces that are numbered from 1 over all messages; a large message whose buffer is in a window is one
// piece that says where it lies, and the receiver copies it from there. Messages of each pair, in each
// direction, are first come first served.
#ifndef TERN_COLL_CALL_MAIL_H
#define TERN_COLL_CALL_MAIL_H

#include "coll/call/call.h"

struct tern__message {
    struct tern__mailman *man;
    const char *name; // of the public function, for sentences
    bool sends;
    int peer;
    char *buffer;
    uint64_t bytes;
    uint64_t signature;
    uint64_t moved; // bytes that are in the mailbox, or out of it
    bool lent;      // sends: the receiver copies it from its window, until ack comes to `last`
    bool begun;     // its first piece is in the mailbox, or was seen there
    uint32_t last;
    uint64_t number; // of the pair's messages in this direction, from 1
    struct tern__record *record;
    int64_t traced_ns; // when it began, if a trace is recorded; else 0
    bool overlaps;     // it is begun here and ended there
    struct tern__message *next;
    bool done;
    int status;
};

int tern__message_check(const char *name, tern_comm *comm, const tern_coll *from,
                        struct tern__message *message);
// Refuses a blocking message to or from this rank itself that meets nothing which has been started.
int tern__message_check_alone(struct tern__message *message);
int tern__message_begin(struct tern__message *message);
int tern__message_wait(struct tern__message *message);
int tern__message_failed(const struct tern__message *message); // words, after the communicator's
struct tern__task *tern__mailman_task(struct tern__mailman *man);
const struct tern__calls *tern__mailman_calls(const struct tern__mailman *man);
void tern__mailman_await(struct tern__mailman *man,
                         const struct tern__message *message);  // that sentences are about; or NULL
void tern__mailman_fail(struct tern__mailman *man, int status); // ends all messages
void tern__mailman_free(struct tern__mailman *man);

#endif
