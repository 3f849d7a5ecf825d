// SPDX-License-Identifier: Apache-2.0
// What carries the bytes between machines, when it is not tern's own connections: a plug-in, loaded
// when TERN_NET names it, which knows nothing of tern but this header. It moves messages, in order
// from each rank to each other, and is driven by one thread of each process at a time, the driving
// one; everything about them is the network's.
//
// A plug-in is a shared object with one symbol, `tern_net_engine`.
#ifndef TERN_NET_ENGINE_H
#define TERN_NET_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN__NET_ENGINE_ABI 2u
#define TERN__NET_HEADER_BYTES                                                                     \
    64                        // of a message; the last 8 of the first 32 are its payload's bytes
#define TERN__NET_BYTES_AT 24 // where those are
#define TERN__NET_CARD_BYTES 1024  // of what a rank says of itself
#define TERN__NET_SHORT_BYTES 4096 // a payload of up to so many is sent with its header

// What the network does for an engine.
struct tern__net_host {
    uint32_t abi;
    int rank, nranks;
    const unsigned char *token; // 16 bytes, the job's
    uint64_t elsewhere;         // bit r: rank r is on another machine
    void *net;
    // On the driving thread. A message's header has come: where its payload goes, never NULL when
    // it has one; and then, when that is there, `came`, in the order of the messages of a rank. A
    // large payload may be placed while those before it are still coming.
    char *(*place)(void *net, int peer, const void *header);
    void (*came)(void *net, int peer, const void *header, const char *payload);
    // Any thread. Whether waiting for the rank is pointless; and that there is something to do.
    bool (*is_gone)(void *net, int peer);
    void (*wake)(void *net);
};

struct tern__net_engine {
    uint32_t abi;
    const char *name;
    // Collective over all ranks. 0, or -1 with a sentence. What others need to reach this one, at
    // most TERN__NET_CARD_BYTES, goes into `card`; connect gets that of every rank.
    int (*start)(const struct tern__net_host *host, void *card, void **state, char *why,
                 size_t why_bytes);
    int (*connect)(void *state, const char *cards, char *why, size_t why_bytes);
    // Any thread; one at a time for each rank. Returns when header and payload may be used again,
    // or -1 when the rank is gone. Must not wait for this process's driving thread, but may leave
    // the rest to it.
    int (*send)(void *state, int rank, const void *header, const void *payload, uint64_t bytes);
    // Whether `send` of a short payload would not have to wait now.
    bool (*has_room)(void *state, int rank);
    // On the driving thread: does not wait, and calls neither `send` nor anything that does. Header
    // and payload stay as they are until *done is set to 1, by `progress`.
    int (*answer)(void *state, int rank, const void *header, const void *payload, uint64_t bytes,
                  uint32_t *done);
    // On the driving thread: true when anything moved.
    bool (*progress)(void *state);
    // What to sleep on, or -1: it has to be asked again and again. arm: true when it may be slept
    // on now, so that nothing is missed; without a descriptor: false when it has to be asked soon.
    int (*descriptor)(void *state);
    bool (*arm)(void *state);
    // Well: all ranks stop. Else nothing of the engine's own library may be called any more.
    void (*stop)(void *state, bool well);
};

// What each plug-in defines; nothing else does.
extern __attribute__((visibility("default"))) const struct tern__net_engine tern_net_engine;

#endif
