// SPDX-License-Identifier: Apache-2.0
// How `tern run` tells a process its place: TERN_RANK, TERN_NRANKS, TERN_HUB_FD (an inherited
// SOCK_SEQPACKET socket to the hub) and TERN_TOKEN (32 hex digits); and, when the job is traced,
// TERN_TRACE_FD (inherited memory to record into, base/trace.h); and, when it has ranks on other
// machines, TERN_LISTEN: they connect to it, so it listens before it joins.
#ifndef TERN_BOOT_ENV_H
#define TERN_BOOT_ENV_H

#define TERN_ENV_RANK "TERN_RANK"
#define TERN_ENV_NRANKS "TERN_NRANKS"
#define TERN_ENV_HUB_FD "TERN_HUB_FD"
#define TERN_ENV_TOKEN "TERN_TOKEN"
#define TERN_ENV_LISTEN "TERN_LISTEN"
#define TERN_ENV_TIMEOUT "TERN_TIMEOUT"

#include <stdint.h>

// 16 bytes as 32 lower-case hex digits and a NUL, and back (-1 when it is not that).
void tern__token_write(const uint8_t token[16], char text[33]);
int tern__token_read(const char *text, uint8_t token[16]);

// 16 random bytes from the kernel.
int tern__token_random(uint8_t token[16]);

#endif
