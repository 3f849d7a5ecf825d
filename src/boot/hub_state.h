// SPDX-License-Identifier: Apache-2.0
// The hub from inside: between hub.c, which listens, and hub_answer.c, which ends a gathering.
// Set-up path.
#ifndef TERN_BOOT_HUB_STATE_H
#define TERN_BOOT_HUB_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/hub.h"
#include "boot/wire.h"
#include "sync/ctl.h"

#define CONNECTIONS_MAX (4 * TERN_RANKS_MAX)

struct tern__connection {
    int fd;
    int rank; // of its last HELLO, or -1
};

struct tern__member {
    bool here;     // its HELLO is part of the present gathering
    bool answered; // with WELCOME, while others still wait for theirs
    bool ended;    // the launcher has seen its process end
    int connection;
    int inbox; // write end
    int pid;
    uint32_t port;
    uint64_t pid_space;
    int64_t deadline_ns;
    int64_t timeout_ns;
    int wait_status;
};

struct tern__hub {
    int nranks;
    uint64_t here;                  // bit r: rank r is to come here
    struct tern__machines machines; // none: all come here
    bool launched;                  // connections came from the launcher; HELLOs carry the token
    uint8_t token[16];              // that HELLOs carry
    uint8_t job_token[16];          // that WELCOMEs carry
    bool spread;                    // see tern__hub_spread
    void (*changed)(void *arg);
    void *changed_arg;
    struct tern__ctl *ctl; // of the last complete gathering, or NULL
    int ctl_fd;            // of it, or -1: by it tern_job_report finds the job of a launcher
    bool complete;
    bool welcomes;   // all have come, and some wait for their WELCOME
    int over_status; // of the gathering that failed, at a path; TERN_OK before
    char over_text[TERN__WIRE_TEXT_BYTES];
    int connections_count;
    struct tern__connection connections[CONNECTIONS_MAX];
    struct tern__member members[TERN_RANKS_MAX];
    char refusal[TERN__WIRE_TEXT_BYTES];    // the last one in this gathering
    char failure[TERN__FAILURE_BYTES + 48]; // the first of a communicator; "" for none
    void (*before_end)(void *arg);          // see tern__hub_before_end
    void *before_end_arg;
};

// Answers that a rank cannot join; the connection stays open.
void tern__hub_refuse(int fd, int status, const char *text);

void tern__hub_forget_member(struct tern__member *member);
void tern__hub_forget_ctl(struct tern__hub *hub);

// Remembers the first failure of a communicator, which may be of an earlier gathering.
void tern__hub_note_failure(struct tern__hub *hub);

// Those that are here, to be gathered: bit r is rank r.
uint64_t tern__hub_here(const struct tern__hub *hub);

// The member of the gathering whose deadline comes first, or -1.
int tern__hub_most_urgent(const struct tern__hub *hub);

// Ends the gathering for everybody in it: with a sentence, or, when all have come, with a job.
void tern__hub_fail_gathering(struct tern__hub *hub, int status, const char *text);
void tern__hub_finish_gathering(struct tern__hub *hub);

// Answers those that have no answer yet, as far as the limit of descriptors in flight allows.
// Returns when to go on, or INT64_MAX.
int64_t tern__hub_welcome_more(struct tern__hub *hub);

#endif
