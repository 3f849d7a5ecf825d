// SPDX-License-Identifier: Apache-2.0
// The network from inside. Locks, in the order in which they are taken:
//
//     nets_lock        of a process: which networks it has
//     net->work        held by whoever handles what has come, the receiving thread or one that
//                      waits, hence by who takes memory away from it
//     net->windows_lock
//
// and peer->lock, of who sends to a rank, before net->work. Whoever handles what has come takes
// none of those, and nobody waits in the ladder with one of them. "The receiving thread" below is
// whoever has net->work; what has ended is freed by that thread itself.
#ifndef TERN_NET_STATE_H
#define TERN_NET_STATE_H

#include <pthread.h>
#include <stdalign.h>
#include <sys/uio.h>

#include "net/net.h"

// Of a larger put by an engine: each piece is a question to the receiver and its answer.
#define TERN__NET_LONG_PIECE (4 << 20)

enum {
    TERN__NET_BUFFER = 64 << 10,   // what is read at once of a connection
    TERN__NET_TURN = 1 << 20,      // of one connection in a row, then others have their turn
    TERN__NET_PIECE = 1 << 20,     // of a larger put: others may send between two
    TERN__NET_SCRATCH = 4 << 20,   // of a payload that has no place of its own, at most
    TERN__NET_PACK = 64 << 10,     // of a block's rows that are put together
    TERN__NET_GETS = 64,           // gets of a process that may be under way
    TERN__NET_WINDOWS = 1024,      // of all communicators
    TERN__NET_STRANGERS = 128,     // connections that have not said who they are
    TERN__NET_STRANGER_MS = 10000, // and how long they may take
    TERN__NET_BEAT_MS = 100,
};

struct tern__net_reply {
    struct tern__net_reply *next;
    struct tern__net_message message;
    const char *payload;
    char *own;     // freed with it; or NULL
    uint64_t sent; // of message and payload together
};

// A connection. Who has connected sends messages, the other side answers. All but `fd` belongs to
// the receiving thread, or to whoever holds net->work.
struct tern__net_link {
    struct tern__net_link *next; // of its list
    int fd;
    int peer;      // rank of the job; -1: it has not said
    bool outgoing; // this process has connected
    bool over;     // BYE has come, or nothing counts that comes
    bool closed;
    bool wants_out;   // waits until replies can be sent
    bool spoiled;     // a reply cannot be read to its end: nothing can follow it
    int64_t since_ns; // when it was made
    // Received and not looked at: buffer[begin..end).
    char *buffer;
    size_t begin, end, size;
    // The message whose payload is coming.
    bool in_payload;
    struct tern__net_message message;
    char *to; // where the payload goes; NULL: nowhere
    // Of a put the first word is stored last, as instructions do: who sees it sees the rest.
    alignas(uint64_t) char head[sizeof(uint64_t)];
    size_t head_bytes;
    uint64_t got;  // bytes of it
    char *scratch; // for payloads that have no place
    size_t scratch_bytes;
    struct tern__net_reply *first, *last; // to be sent
};

// The way to a rank of another machine. Under `lock`, but what is atomic.
struct tern__net_peer {
    pthread_mutex_t lock;           // of who sends
    struct tern__net_link *link;    // outgoing; NULL: not opened yet
    bool broken;                    // a message was cut short: nothing can follow it
    uint64_t sent;                  // messages that a flush confirms
    uint64_t asked;                 // `sent` when the last flush was asked for
    uint64_t flushes;               // asked for
    _Atomic uint64_t flushed;       // answered
    struct tern__net_link *answers; // incoming; of the receiving thread
};

enum tern__get_state {
    TERN__GET_FREE,
    TERN__GET_TAKEN,
    TERN__GET_ASKED,
    TERN__GET_HERE,
    TERN__GET_REFUSED, // there is no such memory there
    TERN__GET_GIVEN_UP // by who asked: what comes has no place
};

struct tern__net_get {
    _Atomic uint32_t state; // enum tern__get_state
    char *to;
    uint64_t bytes;
    uint64_t row_bytes, stride_bytes; // of a block
};

struct tern__net {
    struct tern__job *job;
    pthread_t thread;
    int epoll;
    int wake;                                   // an eventfd
    struct tern__net_carrier *carrier, *opened; // carry.c; NULL: there is none, or not yet
    _Atomic uint32_t stop;
    bool deaf;                    // cannot accept for want of descriptors, until the next beat
    _Atomic uint32_t said;        // times that this process has told others something
    _Atomic uint32_t confirmed;   // flushes of others; what came before them is stored
    _Atomic uint64_t unconfirmed; // bit r: something was sent to rank r, and no flush has come back
    _Atomic uint64_t unfenced;    // bit r: likewise, something that a fence waits for
    pthread_mutex_t work;
    struct tern__net_link *links; // under work
    struct tern__net_link *ended; // closed; freed when no event can be about them
    struct tern__net_peer peers[TERN_RANKS_MAX];
    struct tern__net_handler handlers[TERN__NET_KINDS];
    void (*beat)(struct tern__net *net);
    uint8_t lost[TERN_RANKS_MAX];      // found to have ended, not yet marked dead: peer.c
    int nlost;                         // of them
    int64_t lost_ns;                   // since when the first of them is that
    uint64_t heard;                    // bit r: something has come from rank r since the last beat
    struct tern__net_control *control; // control_beat.c
    struct tern__net_get gets[TERN__NET_GETS];
    pthread_rwlock_t windows_lock;
    uint32_t windows_count;
    struct tern__net_window windows[TERN__NET_WINDOWS];
};

// What the program does before it tells another process, and what the receiving thread does when
// that one sends, are in order; but a tool that looks at one process sees that only here.
static inline void tern__net_show_order(struct tern__net *net)
{
#ifdef __SANITIZE_THREAD__
    atomic_fetch_or_explicit(&net->unconfirmed, 0, memory_order_seq_cst);
#else
    (void)net;
#endif
}

// state.c. Closes all and frees it; no thread uses it.
void tern__net_free(struct tern__net *net);

// The receiving thread does not sleep on. Any thread.
void tern__net_wake(const struct tern__net *net);

// link.c. Makes a connection known to the receiving thread, or closes it: NULL without memory. With
// net->work.
struct tern__net_link *tern__net_link_new(struct tern__net *net, int fd, int peer, bool outgoing);
void tern__net_link_free(struct tern__net_link *link);

// Those that are in net->ended; no event is about them any more.
void tern__net_free_ended(struct tern__net *net);

// peer.c. Whether nothing comes from that rank any more, and the sentence.
bool tern__net_is_gone(const struct tern__net *net, int rank);
int tern__net_say_gone(const struct tern__net *net, int rank);

// This process has no memory ("to answer a rank of another machine"): the communicator of all
// fails, since bytes are lost.
void tern__net_lack(const struct tern__net *net, const char *what);

// Whether no rank has died, as far as is known here, and the communicator of all has not failed.
bool tern__net_works(const struct tern__net *net);

// A rank's connection has closed without a BYE, or could not be used: it has died, unless it left.
// Whoever else knows how it ended has some moments to say it. With net->work: nothing waits for
// that, and those lost later come later. Any thread but the receiving one: waits.
void tern__net_lost(struct tern__net *net, int rank);
void tern__net_await_loss(const struct tern__net *net, int rank);

// On the receiving thread, with net->work: whether to look again in a millisecond.
bool tern__net_losing(struct tern__net *net);

// A flush has been answered.
void tern__net_flushed(struct tern__net *net, int peer, uint64_t number);

// stream.c. The lock of the peer is held.
int tern__net_connect(struct tern__net *net, int rank);
int tern__net_write(struct tern__net *net, int rank, struct tern__net_message *message);

// Says BYE, waiting for no more than a second in all. The receiving thread has ended.
void tern__net_say_bye(struct tern__net *net);

// receive.c. On the receiving thread, with net->work.
void tern__net_receive(struct tern__net *net, struct tern__net_link *link);
void tern__net_close(struct tern__net *net, struct tern__net_link *link);

// What cannot be of this job and build: the communicator of all fails, since bytes were lost.
void tern__net_refuse(struct tern__net *net, struct tern__net_link *link, const char *what);

// Refuses a connection that is spoiled.
void tern__net_close_spoiled(struct tern__net *net, struct tern__net_link *link);

// How many bytes of what goes to an address are stored last, as one: 8, 4, or 0 when that cannot
// be.
size_t tern__net_first_bytes(const char *to, uint64_t bytes);

// reply.c. Likewise. The first frees the payload, later.
void tern__net_answer_own(struct tern__net *net, int peer, const struct tern__net_message *message,
                          char *payload);
void tern__net_reply(struct tern__net *net, struct tern__net_link *link,
                     const struct tern__net_message *message, const char *payload);
void tern__net_send_replies(struct tern__net *net, struct tern__net_link *link);

// windows.c. The networks of this process; the list has a fixed length, and holes.
enum { TERN__NETS = 8 };
int tern__nets_add(struct tern__net *net);
void tern__nets_remove(struct tern__net *net);
struct tern__net *tern__nets_at(int i);

// Keeps them as they are until the release; false when somebody else does that already.
bool tern__nets_hold(void);
void tern__nets_release(void);

// Where the bytes of a message are here; NULL when they are in no window of this process, which may
// have destroyed it, or stick out. rank: of the job, whose part it is.
char *tern__net_place(struct tern__net *net, const struct tern__net_message *message,
                      uint64_t bytes, int *rank);

// Nothing that comes is stored in [begin, begin + bytes) any more. With net->work.
void tern__net_turn_away(struct tern__net *net, const char *begin, uint64_t bytes);

// The handlers of windows, before anything can come.
void tern__net_row_start(struct tern__net *net);
void tern__net_arrive_start(struct tern__net *net);
void tern__net_get_start(struct tern__net *net);
void tern__net_windows_start(struct tern__net *net);

// What the row sends: to whom, and the header.
struct tern__far_part {
    struct tern__net *net;
    struct tern__net_window window;
    int rank;     // of the job
    bool awaited; // as tern__net_send_awaited
    struct tern__net_message message;
};

// get.c. The bytes, or the rows of a block of at most TERN__NET_SCRATCH bytes, into `local`.
int tern__net_fetch(struct tern__far_part *far, char *local, uint64_t bytes,
                    const tern_block *block);

// control.c: sync/far.h, and the handlers of what it sends.
int tern__net_control_start(struct tern__net *net);

// area.c: the handler of areas.
void tern__net_area_start(struct tern__net *net);

#endif
