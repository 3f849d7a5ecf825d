// SPDX-License-Identifier: Apache-2.0
// send and recv from inside. Messages from one rank to another go through the receiver's mailbox,
// in pieces that are numbered from 1 over all messages; a large message whose buffer is in a
// window, or in ordinary memory that the receiver may read, is one piece that says where it lies,
// and the receiver copies it from there. The pieces of each pair, in each direction, are first come
// first served.
//
// A message goes to the oldest recv that asks for its tag, from its sender or from any rank. One
// that meets no recv waits in the mailbox while nobody asks for anything of its sender's; when
// somebody does, it is taken out, into memory of its own (struct tern__early), so that what is
// behind it can be seen.
#ifndef TERN_COLL_CALL_MAIL_H
#define TERN_COLL_CALL_MAIL_H

#include "coll/call/call.h"

// A message that was taken out of its mailbox before it was received.
struct tern__early {
    struct tern__early *next;
    struct tern__message *claimed; // the recv that it goes to when all of it is here
    uint64_t number;               // of the pair's messages in this direction
    uint64_t tag, signature, bytes, moved;
    unsigned char data[];
};

// Messages in the order in which they have begun.
struct tern__mail_queue {
    struct tern__message *oldest, *newest;
};

// One direction between this rank and another.
struct tern__pipe {
    struct tern__mail_queue queue; // out: not ended; in: recvs of this rank alone that have not met
    uint32_t pieces;               // that have been put into the mailbox, or taken out of it
    uint32_t taken;                // out: pieces that the receiver was seen to have taken
    uint64_t messages;             // that have begun
    // In: what the next piece belongs to, if it is not the first of a message.
    struct tern__message *into;
    struct tern__early *filling;
    bool helped;   // the sender still writes a part of the next piece
    uint64_t seen; // messages whose first piece was taken
    struct tern__early *early;
};

struct tern__endpoint {
    struct tern__work work;
    struct tern__calls *calls;
    int waiting;                         // messages that have not ended
    const struct tern__message *awaited; // that a thread waits for, for its sentences; else NULL
    struct tern__pipe out[TERN_RANKS_MAX], in[TERN_RANKS_MAX];
    struct tern__mail_queue any; // recvs of any rank that have not met
    uint64_t any_messages;       // of these, that have begun
    uint64_t posted;             // recvs of all sorts that have begun
    int turn;                    // the rank that the next recv of any rank looks at first
};

struct tern__message {
    struct tern__endpoint *endpoint;
    const char *name; // of the public function, for sentences
    bool sends;
    int peer; // TERN_RANK_ANY: whoever comes; then, when it has met, who that is
    char *buffer;
    uint64_t bytes; // of a recv with `received`: the most; then, when it has met, how many come
    uint64_t tag;
    uint64_t signature;
    uint64_t posted;         // recv: its number among these
    tern_received *received; // recv: NULL: it takes a message of `bytes` alone
    size_t element_bytes;
    uint64_t moved;    // bytes that are in the mailbox, or out of it
    bool by_reference; // sends: the receiver copies it from where it is, until ack comes to `last`
    bool helps;        // and this rank may help with it, if it has a processor
    bool begun;        // its first piece is in the mailbox, or was seen there
    uint32_t last;
    uint64_t number; // of the pair's messages in this direction, from 1
    struct tern__record *record;
    int64_t timeout_ns;
    int64_t traced_ns; // when it began, if a trace is recorded; else 0
    bool overlaps;     // it is begun here and ended there
    struct tern__message *next;
    int status;
    uintptr_t ended_by; // as in struct tern__coll
    tern__done done;
};

static inline struct tern__mail_queue *tern__mail_queue_of(struct tern__message *message)
{
    struct tern__endpoint *endpoint = message->endpoint;
    return message->sends                   ? &endpoint->out[message->peer].queue
           : message->peer == TERN_RANK_ANY ? &endpoint->any
                                            : &endpoint->in[message->peer].queue;
}

// It begins as the next one of its pipe, and has a record.
static inline void tern__message_count(struct tern__message *message)
{
    struct tern__endpoint *endpoint = message->endpoint;
    message->number = message->sends                   ? ++endpoint->out[message->peer].messages
                      : message->peer == TERN_RANK_ANY ? ++endpoint->any_messages
                                                       : ++endpoint->in[message->peer].messages;
    message->posted = message->sends ? 0 : ++endpoint->posted;
    message->record = tern__record_begin(
        endpoint->work.job,
        (struct tern__beginning){
            .comm_slot = endpoint->calls->comm->group.slot,
            .way = TERN__WAY_MAIL,
            .sequence = message->number,
            .signature = (message->signature & ~UINT64_C(31)) |
                         tern__signature_pack(message->sends ? TERN_COLL_SEND : TERN_COLL_RECV, 0,
                                              0, (unsigned)message->peer, 0, 0, 0),
            .bytes = message->bytes,
        });
}

// What ranks compare of a message.
static inline uint64_t tern__message_signature(tern_dtype dtype, uint64_t bytes)
{
    return tern__signature_pack(TERN_COLL_SEND, dtype, 0, 0, 0, -1, bytes);
}

static inline bool tern__message_is_any(const struct tern__message *message)
{
    return !message->sends && message->peer == TERN_RANK_ANY;
}

// Whether the other rank is on another machine: what is put into its mailbox here, and what it is
// told there, is sent to it.
static inline bool tern__mail_is_elsewhere(const struct tern__calls *calls, int peer)
{
    return calls->elsewhere != NULL && (calls->elsewhere->ranks >> peer & 1) != 0;
}

static inline void tern__mail_ring(const struct tern__calls *calls, int peer)
{
    tern__bell_ring(tern__window_bell(calls->area, peer));
}

// mail.c
int tern__message_check(const char *name, struct tern__calls *calls, const tern_coll *from,
                        struct tern__message *message);
// Refuses a blocking message to or from this rank itself that meets nothing which has been started.
int tern__message_check_alone(const struct tern__message *message); // in match.c
int tern__message_begin(struct tern__message *message);
int tern__message_wait(struct tern__message *message);
int tern__message_failed(const struct tern__message *message); // words, after the communicator's
void tern__endpoint_free(struct tern__endpoint *endpoint);
void tern__endpoint_let_go(struct tern__endpoint *endpoint); // in the child of a fork

// pieces.c: a whole small message, when nothing is before it and, of a recv, it is there or comes
// at once; true when it has been made. What is wrong with a call is found by tern__message_check.
bool tern__message_quick(tern_comm *comm, const tern_coll *call);

// match.c: which recv a message goes to. The oldest that takes this tag of this rank, or NULL;
// takes it out of its queue. Whether any recv asks for a message of the rank.
struct tern__message *tern__recv_find(struct tern__endpoint *endpoint, int from, uint64_t tag);
void tern__recv_take(struct tern__message *message, int from, uint64_t bytes);
bool tern__recv_wants(const struct tern__endpoint *endpoint, int from);

// Whether a recv takes a message with this signature and so many bytes; TERN_ERR_MISMATCH, with a
// sentence that has the sender's number, fails the communicator.
bool tern__recv_fits(const struct tern__message *message, uint64_t signature, uint64_t bytes);
int tern__recv_differs(const struct tern__message *message, int from, uint64_t number,
                       uint64_t signature, uint64_t bytes);

// A message that nobody asks for yet begins to be taken out of the mailbox; NULL, with a sentence:
// no memory, and the communicator has failed. The oldest with a tag that nobody has claimed; frees
// it.
struct tern__early *tern__early_begin(struct tern__endpoint *endpoint, int from,
                                      const struct tern__mail *mail, uint64_t bytes);
struct tern__early *tern__early_find(const struct tern__endpoint *endpoint, int from, uint64_t tag);
void tern__early_free(struct tern__pipe *pipe, struct tern__early *early);

// It has ended, and is in no queue any more.
void tern__message_end(struct tern__message *message, int status);

// take.c: whether there is a piece of a rank that is asked for; takes what has come (1 when
// anything was moved; not by_reference: leaves what would be copied from where it lies); gives a
// recv that has begun what came before it, 1 when there was such a message; a whole small message,
// true when it was there.
bool tern__can_take(const struct tern__endpoint *endpoint, int from);
int tern__take_some(struct tern__endpoint *endpoint, int from, bool by_reference);
int tern__take_claim(struct tern__message *message, int from);
bool tern__take_quick(struct tern__message *message);

// pieces.c: moves what can be moved; whether any message could be; ends all messages with a status.
// 1 when anything moved. Not by_reference: leaves what would be copied from where it lies.
int tern__message_advance(struct tern__message *message, bool by_reference);
bool tern__endpoint_advance(struct tern__endpoint *endpoint);
bool tern__endpoint_ready(struct tern__endpoint *endpoint);
void tern__endpoint_fail(struct tern__endpoint *endpoint, int status);

#endif
