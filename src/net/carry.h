// SPDX-License-Identifier: Apache-2.0
// The network's side of an engine (net/engine.h), where TERN_NET names one: what goes between
// windows, and its flushes, are carried by it; control stays on tern's own connections.
#ifndef TERN_NET_CARRY_H
#define TERN_NET_CARRY_H

#include "net/engine.h"
#include "net/state.h"

// Whether the engine carries a message of this kind.
static inline bool tern__net_is_carried(const struct tern__net *net, uint32_t kind)
{
    return net->carrier != NULL && kind != TERN__NET_HELLO && kind != TERN__NET_BYE &&
           kind < TERN__NET_CONTROL;
}

// TERN_OK, or TERN_ERR_PEER with a sentence. The lock of the peer is held. A small put waits for
// what follows it, a tenth of a second at most: with a notify to the same part it is one message.
int tern__net_carry(struct tern__net *net, int rank, const struct tern__net_message *message,
                    const void *payload);

// On the receiving thread, now and then: sends what is held back for messages that may follow.
void tern__net_carry_beat(struct tern__net *net);

// On the receiving thread, with net->work. own: freed when it has gone; NULL: the payload is not.
void tern__net_carry_answer(struct tern__net *net, int rank,
                            const struct tern__net_message *message, const char *payload,
                            char *own);

// With net->work: takes what has come by the engine. True when anything moved.
bool tern__net_carry_take(struct tern__net *net);

// On the receiving thread: takes what has come, and returns how long that may sleep, in
// nanoseconds, at most `most_ns`.
int64_t tern__net_carry_on(struct tern__net *net, int64_t most_ns);

// The receiving thread has ended.
void tern__net_carry_stop(struct tern__net *net);

#endif
