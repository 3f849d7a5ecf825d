// SPDX-License-Identifier: Apache-2.0
// Options from the environment, and defaults.
#ifndef TERN_BASE_OPTIONS_H
#define TERN_BASE_OPTIONS_H

#include <stdint.h>

#define TERN_DEFAULT_TIMEOUT_NS INT64_C(60000000000)

// The deadline to use: given_ns when positive, else TERN_TIMEOUT (seconds, decimals allowed, or
// never), else the default. TERN_ERR_ARG when TERN_TIMEOUT is neither.
int tern__timeout_option(int64_t given_ns, int64_t *timeout_ns);

// TERN_NET_TIMEOUT: how long another machine may be silent before it counts as gone. Its own
// processes say something at least ten times as often. TERN_ERR_ARG as above.
#define TERN_DEFAULT_NET_TIMEOUT_NS INT64_C(1000000000)
int tern__net_timeout_option(int64_t *timeout_ns);

// TERN_STALL: after how long `tern run` says that all ranks wait; never: INT64_MAX. TERN_ERR_ARG as
// above.
#define TERN_DEFAULT_STALL_NS INT64_C(10000000000)
int tern__stall_option(int64_t *stall_ns);

// Which parts of windows a core dump of a rank contains.
enum tern__dump {
    TERN__DUMP_OWN, // its own; the default
    TERN__DUMP_ALL, // those of all ranks
    TERN__DUMP_NONE,
};

// TERN_CORE: own, all or none. TERN_ERR_ARG for another word.
int tern__dump_option(enum tern__dump *dump);

// TERN_DIRECT: off, on (the default), or from how many bytes of a share on ranks read each other's
// ordinary memory. TERN_ERR_ARG for another word.
#define TERN__DIRECT_OFF 0
#define TERN__DIRECT_ON UINT64_MAX // from where the table of choices says
int tern__direct_option(uint64_t *from);

// HCCL_BUFFSIZE: the MiB of each CCL buffer, in bytes; 200 MiB where it is not set.
// TERN_ERR_ARG for what is no number from 1 on.
int tern__ccl_option(uint64_t *bytes);

// Parses a whole decimal number in [low, high]. Returns -1 for anything else.
int tern__parse_integer(const char *text, long low, long high, long *value);

#endif
