// SPDX-License-Identifier: Apache-2.0
// Between ranks of different machines: messages in order from each rank to each other, and what is
// built on them. A job on one machine has none of this, and no thread.
//
//     net.c       start and end; the thread that receives
//     state.c     what all files ask of it
//     link.c      connections
//     peer.c      who is still there
//     stream.c    sending
//     flush.c     until all of it is stored
//     receive.c   receiving
//     reply.c     answers
//     windows.c   which windows there are
//     row.c       the row of the transports' table for ranks of other machines
//     get.c       its gets
//     arrive.c    what is done when its messages come
//     control*.c  communicators: barriers, failures, who has left; invitations;
//                 who is silent, or does what
//     area.c      what ranks publish in the areas of communicators
//
// Each process has a thread that sleeps until something comes, stores it, and rings the bells of
// whoever may wait for it. So ranks that compute receive, and no wait asks the network.
//
// What is sent from one process to another arrives in its order (a stream, opened when it is first
// used); between streams there is no order, so before a rank is told that something is there, all
// that this process has sent to others is acknowledged: tern__net_flush.
#ifndef TERN_NET_NET_H
#define TERN_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sync/job.h"
#include "xport/xport.h"

struct tern__net;

enum tern__net_kind {
    TERN__NET_HELLO = 1, // of who has connected: value and key are the job's token
    TERN__NET_BYE,       // nothing more will come; without it, the process has died
    TERN__NET_FLUSH,     // asks for FLUSHED with the same value, when all before it is stored
    TERN__NET_FLUSHED,
    // About a rank's part of a window, by communicator and number.
    TERN__NET_PUT,       // word: bits below; with _POSTS key: of a signal in the same part, and
                         // value, more: as value and word of NOTIFY
    TERN__NET_PUT_BLOCK, // value: bytes of a row, more: from one row to the next
    TERN__NET_ADD,       // word: the dtype
    TERN__NET_NOTIFY,    // value, word: tern_notify_op
    TERN__NET_GET,       // value: bytes; answered by GOT with the same key
    TERN__NET_GET_BLOCK, // word: rows, value: bytes of one, more: from one to the next
    TERN__NET_GOT,       // word 1: there is no such memory
    TERN__NET_GOT_BLOCK, // its rows one after the other
    TERN__NET_AREA,      // of a part of an area: see tern__net_area_send
    // Control, between leaders: the handlers of control.c. Nothing that is sent later depends on
    // them, so no flush confirms them. slot, generation, word: the communicator, and its size.
    TERN__NET_CONTROL,
    TERN__NET_ARRIVED = TERN__NET_CONTROL, // value: number of the barrier; key: bit r: rank r;
                                           // more: bit m: machine m has members, the sender's apart
    TERN__NET_FAILED,   // value: status; rank: culprit; key: who died first (of the job), plus one;
                        // payload: the sentence
    TERN__NET_LEFT,     // rank; value: number of the last barrier that it has come to
    TERN__NET_INVITED,  // rank: of the job; payload: the place, as in control_invite.c
    TERN__NET_CAME,     // rank: of the job, whose invitation it is; value: its number
    TERN__NET_SELECTED, // payload: struct tern__selected
    TERN__NET_BEAT,     // what the ranks of a machine do, by its leader: control_beat.c
    TERN__NET_SILENT,   // the machine that this is sent to has been so for `value` ns
    TERN__NET_FORGET,   // rank has destroyed a window: key: its place, value: name, more: all ranks
    TERN__NET_KINDS = 32,
};

// On the wire: of one build and byte order, which HELLO compares.
struct tern__net_message {
    uint32_t kind;
    uint32_t slot;   // of the communicator
    uint32_t number; // of its window
    int32_t rank;    // of the communicator
    uint64_t offset; // in that rank's part
    uint64_t bytes;  // of the payload that follows
    uint64_t value;
    uint64_t key;
    uint32_t word;
    uint32_t generation; // of windows: the window's
    uint64_t more;
};
_Static_assert(sizeof(struct tern__net_message) == 64, "no padding on the wire");

// Starts the thread and connects to the leader of each other machine; stops it. Only for jobs on
// several machines. job->net is it.
int tern__net_start(struct tern__job *job);
void tern__net_stop(struct tern__job *job);

// The two steps of the start, for who has something to say when the second one fails: the network
// is there then, until it is stopped.
int tern__net_open(struct tern__job *job);
int tern__net_reach(struct tern__job *job);

// Sends to a rank of the job on another machine; `bytes` of payload. Returns when the payload may
// be used again, which can take as long as the other side takes to receive. Any thread but the one
// that receives. TERN_ERR_PEER with a sentence when that rank has died.
int tern__net_send(struct tern__net *net, int rank, const struct tern__net_message *message,
                   const void *payload);

// The same, of what only a flush of all waits for: the other side waits until it is there.
int tern__net_send_awaited(struct tern__net *net, int rank, const struct tern__net_message *message,
                           const void *payload);

// Sends to the leaders of all other machines that have any of these ranks of the job (bit r: rank
// r). What cannot be sent is of a rank that has died, which others say.
void tern__net_tell(struct tern__net *net, uint64_t ranks, const struct tern__net_message *message,
                    const void *payload);

// A fence: returns when what this process has sent to ranks but `except` (-1: to all) is stored
// there, but for what readers wait for anyway, as the inputs of calls. One load when there is
// nothing. TERN_ERR_PEER, or TERN_ERR_TIMEOUT of the job's deadline.
int tern__net_flush(struct tern__net *net, int except);

// The same (all: of all that was sent) to all ranks, with a deadline of its own, and until `failed`
// says that a group has.
int tern__net_flush_within(struct tern__net *net, bool all, const _Atomic uint32_t *failed,
                           int64_t timeout_ns);

// What comes is given to the functions of its kind, on the thread that receives or on one that
// waits, one at a time, in the order of its stream. They must not block. place: where the payload
// goes; NULL: to memory that is valid during `done`; tern__net_nowhere: it is dropped, and `done`
// gets NULL. `peer` is a rank of the job.
extern char tern__net_nowhere[1];
struct tern__net_handler {
    char *(*place)(struct tern__net *net, int peer, const struct tern__net_message *message);
    void (*done)(struct tern__net *net, int peer, const struct tern__net_message *message,
                 const char *payload);
    bool loose;   // no flush waits for it
    bool awaited; // only a flush of all does: who reads it waits until it is there
};

// Before anything of the kind can come: while the network starts.
void tern__net_handle(struct tern__net *net, enum tern__net_kind kind,
                      struct tern__net_handler handler);

// On the receiving thread, about 10 times a second: for heartbeats. One function.
void tern__net_each_beat(struct tern__net *net, void (*beat)(struct tern__net *net));

// Engines: plug-ins that carry what goes between windows (net/engine.h). The word of TERN_NET,
// "tcp" where it is not set: that is tern's own connections, and there is nothing to open. Else all
// ranks open it, and connect with the cards of all (TERN__NET_CARD_BYTES each), before anything is
// sent between windows.
int tern__net_engine_word(const char **word);
int tern__net_engine_open(struct tern__net *net, const char *word, void *card);
int tern__net_engine_connect(struct tern__net *net, const char *cards);

struct tern__job *tern__net_job(struct tern__net *net);

// On the receiving thread: answers on the connection that `peer` sends by. The payload is not
// copied; it stays as it is until it has been sent.
void tern__net_answer(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload);

// Windows, as they are known to all machines: by the number of their communicator and their own.
// `base` is where rank 0's part is in this process; rank: this process's own in the communicator.
struct tern__net_window {
    uint32_t slot, number;
    uint32_t generation; // the same on all ranks, and of no other window of the slot
    uint32_t slot_generation;
    char *base;
    size_t size_bytes;
    int nranks;
    int rank;
    const int *members; // ranks of the job; as long as the window is known
    uint32_t place;     // of struct tern__ctl_window in this machine's control memory
    uint64_t name;      // in it; 0: it has none
    uint64_t all;       // bit r: rank r of the communicator
    uint64_t away;      // those on other machines
    bool retired;       // this process has destroyed it: only its own part is still there
};
int tern__net_window_add(struct tern__net *net, const struct tern__net_window *window);

// Nothing is stored in it any more when this returns; what still comes is dropped.
void tern__net_window_remove(struct tern__net *net, const char *base);

// The same when this process lets go of it, and ranks of other machines may still put there or get
// from it: its own part, which is at `own` from now on, and belongs to the network, stays until
// they have destroyed the window, too. places: of the window on each machine.
void tern__net_window_retire(struct tern__net *net, const char *base, char *own,
                             const uint32_t *places);

// Gives the memory back of those that nobody needs any more; also done ten times a second.
void tern__net_windows_reap(struct tern__net *net);

// A place for a window in this machine's control memory; TERN_ERR_LIMIT. And back, when there came
// no window.
int tern__net_window_place(struct tern__net *net, uint64_t name, uint32_t *place);
void tern__net_window_unplace(struct tern__net *net, uint32_t place);

// The window and the rank's part that an address of this process is in.
bool tern__net_window_find(struct tern__net *net, const char *address,
                           struct tern__net_window *window, int *rank, uint64_t *offset);

// What a rank publishes in a part of an area, for ranks of another machine: a payload, then a line.
struct tern__net_area {
    uint32_t slot, number, generation; // of the window that the area is
    int rank;                          // whose part
    uint64_t offset;                   // of the payload in it
    uint64_t bytes;                    // of the payload
    uint32_t line;                     // where the line is in the part; it begins with a number:
    uint32_t run;                      // that is stored when all else is
    uint32_t line_bytes;               // that come behind the number
    uint32_t counter;                  // in rank 0's part: where ranks arrive
    uint32_t counted;                  // what it was before any has arrived for this
    uint32_t then;                     // bits below; 0: there is no line yet
};
enum {
    TERN__NET_AREA_LINE = 1,
    TERN__NET_AREA_COUNT = 2,    // a rank has arrived: the last one wakes all that are there
    TERN__NET_AREA_RING = 4,     // wakes all that are there
    TERN__NET_AREA_RING_ONE = 8, // wakes the rank that this is sent to
    TERN__NET_AREA_ALL = 16,     // as by tern__net_area_send_all
};

// To a rank of the job there that has the area; `line`: the bytes behind the number. What cannot be
// sent is of a rank that has died, which others say.
void tern__net_area_send(struct tern__net *net, int to, const struct tern__net_area *area,
                         const char *payload, const char *line);

// The same of several ranks in one message: what each has at the same places of its part, which
// are so far from each other. (TERN_CACHE_LINE + area->bytes) for each, at most
// TERN__NET_TOGETHER_BYTES; ranks: bits, by part.
#define TERN__NET_TOGETHER_BYTES 8192
void tern__net_area_send_all(struct tern__net *net, int to, const struct tern__net_area *area,
                             const char *parts, size_t stride, uint64_t ranks);

enum {
    TERN__NET_PUT_RINGS = 1, // whoever waits for the data itself is woken
    TERN__NET_PUT_POSTS = 2, // changes a signal when it is stored, and wakes who waits for that
};

// Adds 1 to a signal of a rank of another machine, named as in tern__xport_net, when what this
// process has sent to that rank is stored; what it has sent to others may come later. Only where
// that rank waits for it before it does what others rely on, as in plans: no fence does.
void tern__net_post(char *remote);

// Puts bytes there, at least one, and then posts to a signal of the same rank, as above: one
// message, where both are in one window.
void tern__net_put_post(char *remote, const char *local, size_t bytes, char *signal);

// The transport to ranks of other machines: remote addresses are where their parts would be here.
extern const struct tern__xport tern__xport_net;

// Whether the last transfer of this thread to or from another machine, if it has not asked about
// that, has not gone because that rank had left. What else goes wrong fails the communicator.
bool tern__net_missed(void);

// The one to ranks of this machine, in such jobs: as shm, but a notify comes after a flush, since
// whoever it tells may tell others.
extern struct tern__xport tern__xport_near; // as it is from the first tern__net_start on

#endif
