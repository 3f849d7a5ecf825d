// SPDX-License-Identifier: Apache-2.0
// What is done on the receiving thread when puts, adds and notifies come.

#include <string.h>

#include "base/memcpy.h"
#include "net/state.h"
#include "tern/dtype.h"

static void ring(struct tern__net *net, int rank)
{
    tern__bell_ring(&net->job->ctl->ranks[rank].bell);
}

static char *put_place(struct tern__net *net, int peer, const struct tern__net_message *message)
{
    int rank;
    char *to = tern__net_place(net, message, message->bytes, &rank);
    (void)peer;
    return to != NULL ? to : tern__net_nowhere;
}

// Adds to a signal in the part that a message is about.
static void notify(struct tern__net *net, const struct tern__net_message *message, int32_t value,
                   tern_notify_op op)
{
    int rank;
    char *to = tern__net_place(net, message, sizeof(int32_t), &rank);
    if (to != NULL && message->offset % sizeof(int32_t) == 0) {
        tern__xport_shm.notify(to, value, op);
        ring(net, rank);
    }
}

// Programs also wait for rows of tensors, without a notify behind them.
static void put_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                     const char *payload)
{
    int rank;
    (void)peer;
    if (message->word == TERN__NET_PUT_POSTS) {
        struct tern__net_message signal = *message;
        signal.offset = message->key;
        notify(net, &signal, (int32_t)(uint32_t)message->value, (tern_notify_op)message->more);
    } else if (message->word != 0 && payload != NULL &&
               tern__net_place(net, message, message->bytes, &rank) != NULL) {
        ring(net, rank);
    }
}

// The first word last, as instructions store rows.
static void store_row(char *to, const char *from, uint64_t bytes)
{
    size_t first = tern__net_first_bytes(to, bytes);
    tern__memcpy(to + first, from + first, bytes - first);
    if (first > 0) {
        tern__publish_bytes(to, from, first); // partner: who waits for the row
    }
}

// The first row last: the rows may be the elements of one.
static void block_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                       const char *payload)
{
    int rank;
    uint64_t rows = message->value > 0 ? message->bytes / message->value : 0;
    uint64_t span;
    (void)peer;
    if (rows == 0 || __builtin_mul_overflow(rows - 1, message->more, &span) ||
        __builtin_add_overflow(span, message->value, &span)) {
        return;
    }
    char *to = tern__net_place(net, message, span, &rank);
    for (uint64_t row = rows; to != NULL && row-- > 0;) {
        store_row(to + row * message->more, payload + row * message->value, message->value);
    }
    if (to != NULL) {
        ring(net, rank);
    }
}

static void add_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                     const char *payload)
{
    int rank;
    char *to = tern__net_place(net, message, message->bytes, &rank);
    size_t element = message->word < 256 ? tern_dtype_size((tern_dtype)message->word) : 0;
    (void)peer;
    if (to != NULL && element != 0 && message->offset % element == 0) {
        tern__xport_shm.put_add(to, payload, message->bytes / element, (tern_dtype)message->word);
        ring(net, rank);
    }
}

static void notify_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                        const char *payload)
{
    (void)peer;
    (void)payload;
    notify(net, message, (int32_t)(uint32_t)message->value, (tern_notify_op)message->word);
}

void tern__net_arrive_start(struct tern__net *net)
{
    tern__net_handle(net, TERN__NET_PUT,
                     (struct tern__net_handler){.place = put_place, .done = put_done});
    tern__net_handle(net, TERN__NET_PUT_BLOCK, (struct tern__net_handler){.done = block_done});
    tern__net_handle(net, TERN__NET_ADD, (struct tern__net_handler){.done = add_done});
    tern__net_handle(net, TERN__NET_NOTIFY, (struct tern__net_handler){.done = notify_done});
}
