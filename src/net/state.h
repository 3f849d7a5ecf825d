// SPDX-License-Identifier: Apache-2.0
// The network from inside.
#ifndef TERN_NET_STATE_H
#define TERN_NET_STATE_H

#include <pthread.h>

#include "net/net.h"

enum {
    TERN__NET_BUFFER = 64 << 10, // what is read at once of a connection
    TERN__NET_GETS = 64,         // gets of a process that may be under way
    TERN__NET_WINDOWS = 1024,    // of all communicators
    TERN__NET_BEAT_MS = 100,
};

struct tern__net_reply {
    struct tern__net_reply *next;
    struct tern__net_message message;
    const char *payload;
    uint64_t sent; // of message and payload together
};

// A connection. Who has connected sends messages, the other side answers. All but `fd` belongs to
// the receiving thread.
struct tern__net_link {
    struct tern__net_link *next; // of all
    int fd;
    int peer;      // rank of the job; -1: it has not said
    bool outgoing; // this process has connected
    bool over;     // BYE has come
    bool closed;
    // Received and not looked at: buffer[begin..end).
    char *buffer;
    size_t begin, end;
    // The message whose payload is coming.
    bool in_payload;
    struct tern__net_message message;
    char *to;      // where the payload goes
    uint64_t got;  // bytes of it
    char *scratch; // for payloads that have no place
    size_t scratch_bytes;
    struct tern__net_reply *first, *last; // to be sent
};

// The way to a rank of another machine.
struct tern__net_peer {
    pthread_mutex_t lock;        // of who sends
    struct tern__net_link *link; // NULL: not opened yet
    uint64_t flushes;            // asked for
    _Atomic uint64_t flushed;    // answered
    _Atomic uint32_t dirty;      // 1: something has been sent that no flush has confirmed
};

struct tern__net_get {
    _Atomic uint32_t state; // 0: free, 1: under way, 2: here
    char *to;
    uint64_t bytes;
};

struct tern__net {
    struct tern__job *job;
    pthread_t thread;
    int epoll;
    int wake; // an eventfd
    _Atomic uint32_t stop;
    _Atomic uint32_t dirty; // 1: some peer is
    pthread_mutex_t links_lock;
    struct tern__net_link *links;
    struct tern__net_peer peers[TERN_RANKS_MAX];
    struct tern__net_handler handlers[TERN__NET_KINDS];
    void (*beat)(struct tern__net *net);
    struct tern__net_get gets[TERN__NET_GETS];
    pthread_rwlock_t windows_lock;
    uint32_t windows_count;
    struct tern__net_window windows[TERN__NET_WINDOWS];
};

// stream.c. A connection becomes known; NULL without memory, and the descriptor is closed.
struct tern__net_link *tern__net_link_new(struct tern__net *net, int fd, int peer, bool outgoing);
int tern__net_connect(struct tern__net *net, int rank);

// A rank's connection has closed without a BYE, or could not be used: it has died, unless it left.
void tern__net_lost(struct tern__net *net, int rank);

// receive.c. On the receiving thread.
void tern__net_receive(struct tern__net *net, struct tern__net_link *link);
void tern__net_send_replies(struct tern__net *net, struct tern__net_link *link);
void tern__net_close(struct tern__net *net, struct tern__net_link *link);

// row.c: the handlers of windows.
void tern__net_row_start(struct tern__net *net);
void tern__net_row_stop(struct tern__net *net);

// control.c: sync/far.h, and the handlers of what it sends.
void tern__net_control_start(struct tern__net *net);

#endif
