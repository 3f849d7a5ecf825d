// SPDX-License-Identifier: Apache-2.0
// What travels on the start-up sockets (SOCK_SEQPACKET: one message, one packet), with descriptors
// as SCM_RIGHTS. Between processes of one machine and one build; the abi number says so.
//
//   rank -> hub    HELLO     + the write end of the rank's inbox
//   hub -> rank    ACCEPTED  the rank is in; if the hub goes away now, it has died
//                  WELCOME   + the control memory, + the inbox of every rank here in rank order
//                  REFUSED   a sentence; the hub closes
//   rank -> inbox  PARCEL    + one descriptor
#ifndef TERN_BOOT_WIRE_H
#define TERN_BOOT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/comm.h"

#define TERN__WIRE_MAGIC 0x6e726562u
#define TERN__WIRE_FDS_MAX (TERN_RANKS_MAX + 1)
#define TERN__WIRE_TEXT_BYTES 480

enum tern__wire_kind {
    TERN__WIRE_HELLO = 1,
    TERN__WIRE_ACCEPTED,
    TERN__WIRE_WELCOME,
    TERN__WIRE_REFUSED,
    TERN__WIRE_PARCEL,
};

struct tern__wire_message {
    uint32_t magic;
    uint32_t abi;
    uint32_t kind; // enum tern__wire_kind
    int32_t rank;
    int32_t nranks;
    int32_t pid;
    int32_t status;
    uint32_t port; // of a HELLO: where other machines reach the rank; 0: nowhere
    uint64_t pid_space;
    uint64_t tag;       // of a parcel
    int64_t timeout_ns; // of a HELLO
    uint64_t here;      // of a WELCOME: bit r: rank r is on this machine
    uint8_t token[16];
    char text[TERN__WIRE_TEXT_BYTES];
};
_Static_assert(sizeof(struct tern__wire_message) == 80 + TERN__WIRE_TEXT_BYTES,
               "no padding on the wire");

// Sends without blocking or SIGPIPE. 0, or -1 with errno.
int tern__wire_send(int fd, const struct tern__wire_message *message, const int *fds, int count);

// Whether errno says that sending failed because this user has as many descriptors under way in
// sockets as this process may have files open. It passes when others take theirs.
bool tern__wire_is_full(void);

// Sets the sentence of a sender whom that has kept until its deadline: TERN_ERR_SYSTEM.
void tern__wire_stayed_full(int64_t waited_ns);

// Receives without blocking. 1: a message, with *count descriptors (close-on-exec, the caller's);
// 0: the other side has closed; -1 with errno (EAGAIN; EPROTO for what is not a message of this
// build and EMFILE for one whose descriptors this process cannot have, those that came closed).
int tern__wire_receive(int fd, struct tern__wire_message *message, int fds[TERN__WIRE_FDS_MAX],
                       int *count);

// A message of this build and kind.
struct tern__wire_message tern__wire_message(enum tern__wire_kind kind);

#endif
