// SPDX-License-Identifier: Apache-2.0
// send and recv from inside. Messages from one rank to another go through the receiver's
// mailbox, in pieces that are numbered from 1 over all messages; a large message whose buffer is
// in a window, or in ordinary memory that the receiver may read, is one piece that says where it
// lies, and the receiver copies it from there. Messages of each pair, in each direction, are
// first come first served.
#ifndef TERN_COLL_CALL_MAIL_H
#define TERN_COLL_CALL_MAIL_H

#include "coll/call/call.h"

// One direction between this rank and another.
struct tern__pipe {
    struct tern__message *oldest, *newest;
    uint32_t pieces;   // that have been put into the mailbox, or taken out of it
    uint32_t taken;    // out: pieces that the receiver was seen to have taken
    uint64_t messages; // that have begun
};

struct tern__endpoint {
    struct tern__work work;
    struct tern__calls *calls;
    int waiting;                         // messages that have not ended
    const struct tern__message *awaited; // that the thread waits for, for sentences
    struct tern__pipe out[TERN_RANKS_MAX], in[TERN_RANKS_MAX];
};

struct tern__message {
    struct tern__endpoint *endpoint;
    const char *name; // of the public function, for sentences
    bool sends;
    int peer;
    char *buffer;
    uint64_t bytes;
    uint64_t signature;
    uint64_t moved;    // bytes that are in the mailbox, or out of it
    bool by_reference; // sends: the receiver copies it from where it is, until ack comes to `last`
    bool begun;        // its first piece is in the mailbox, or was seen there
    uint32_t last;
    uint64_t number; // of the pair's messages in this direction, from 1
    struct tern__record *record;
    int64_t timeout_ns;
    int64_t traced_ns; // when it began, if a trace is recorded; else 0
    bool overlaps;     // it is begun here and ended there
    struct tern__message *next;
    bool done;
    int status;
};

static inline struct tern__pipe *tern__pipe_of(struct tern__message *message)
{
    struct tern__endpoint *endpoint = message->endpoint;
    return message->sends ? &endpoint->out[message->peer] : &endpoint->in[message->peer];
}

// It begins as the next one of its pipe, and has a record.
static inline void tern__message_count(struct tern__message *message, struct tern__pipe *pipe)
{
    const struct tern__endpoint *endpoint = message->endpoint;
    message->number = ++pipe->messages;
    message->record =
        tern__record_begin(endpoint->work.job,
                           (struct tern__beginning){
                               .comm_slot = endpoint->calls->comm->group.slot,
                               .way = TERN__WAY_MAIL,
                               .sequence = message->number,
                               .signature =
                                   (message->signature & ~UINT64_C(31)) |
                                   tern__signature_pack(
                                       message->sends ? TERN_COLL_SEND : TERN_COLL_RECV, 0, 0,
                                       (unsigned)message->peer, 0, 0, 0),
                               .bytes = message->bytes,
                           });
}

// mail.c
int tern__message_check(const char *name, struct tern__calls *calls, const tern_coll *from,
                        struct tern__message *message);
// Refuses a blocking message to or from this rank itself that meets nothing which has been started.
int tern__message_check_alone(struct tern__message *message);
int tern__message_begin(struct tern__message *message);
int tern__message_wait(struct tern__message *message);
int tern__message_failed(const struct tern__message *message); // words, after the communicator's
void tern__endpoint_free(struct tern__endpoint *endpoint);

// pieces.c: a whole small message, when nothing is before it and, of a recv, it is there or comes
// at once; true when it has been made. What is wrong with a call is found by tern__message_check.
bool tern__message_quick(tern_comm *comm, const tern_coll *call);

// pieces.c: moves what can be moved; whether any message could be; ends all messages with a status.
// 1 when anything moved. Not `lent`: leaves what would be copied from where it lies.
int tern__pipe_advance(struct tern__pipe *pipe, bool lent);
bool tern__endpoint_advance(struct tern__endpoint *endpoint);
bool tern__endpoint_ready(struct tern__endpoint *endpoint);
void tern__endpoint_fail(struct tern__endpoint *endpoint, int status);

#endif
