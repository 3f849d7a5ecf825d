// SPDX-License-Identifier: Apache-2.0
// A connection of two launchers of one job, on different machines: words with what belongs to them,
// in order, over TCP. Both sides say something at least ten times in the time that the other may be
// silent, so a machine that has stopped, or a cable that is cut, is known. Nothing here waits.
// Set-up path.
#ifndef TERN_BOOT_LINK_H
#define TERN_BOOT_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define TERN__LINK_PAYLOAD_MAX 16384
#define TERN__LINK_BUFFER_BYTES (256 * 1024)

struct tern__link_word {
    uint32_t magic;
    uint32_t abi;
    uint32_t kind; // 0: nothing but a sign of life
    int32_t rank;
    int32_t value;
    uint32_t bytes; // that follow
    uint64_t number;
};

enum tern__link_state {
    TERN__LINK_OPEN,
    TERN__LINK_CLOSED, // by the other side, or by the network
    TERN__LINK_SILENT, // for longer than it may be
    TERN__LINK_FOREIGN // what it says is not of this build of tern
};

struct tern__link {
    int fd; // -1: none
    enum tern__link_state state;
    int64_t silence_ns; // how long the other side may be silent
    int64_t heard_ns, said_ns;
    uint32_t in, taken, out; // bytes read, those of them that were handed out, and bytes to write
    char *input, *output;    // TERN__LINK_BUFFER_BYTES each
};

// Takes a connected socket over. TERN_ERR_MEMORY; then the socket is closed.
int tern__link_open(struct tern__link *link, int fd, int64_t silence_ns);
void tern__link_close(struct tern__link *link);

// Queues a word, and writes what can be written. A link whose other side takes nothing any more is
// closed.
void tern__link_say(struct tern__link *link, const struct tern__link_word *word,
                    const void *payload);

// What to poll for; fd is -1 when there is nothing.
struct pollfd tern__link_pollfd(const struct tern__link *link);

// Reads and writes what there is, says something when it is time to, and looks how long the other
// side has been silent. Call when poll reports something, and at the time that it returns (of
// tern__now_ns). What has arrived is heard first, then look at `state`.
int64_t tern__link_turn(struct tern__link *link);

// The next word: its payload is valid until the next call on this link.
bool tern__link_hear(struct tern__link *link, struct tern__link_word *word, const void **payload);

#endif
