// SPDX-License-Identifier: Apache-2.0
// Windows whose parts are on several machines, as who sends sees them: puts, adds and notifies as
// messages. A rank of another machine is named by the address that its part would have in this
// process, so the row fits the table of transports. What fails for another reason than a death,
// which the communicator finds itself, fails the communicator; the callers ask it afterwards.

#include <poll.h>
#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "net/carry.h"
#include "net/state.h"
#include "sync/group.h"
#include "tern/dtype.h"

enum { END_MS = 1000 }; // how long the end of a connection may take to be seen

static _Thread_local bool missed; // of the last transfer

bool tern__net_missed(void)
{
    bool was = missed;
    missed = false;
    return was;
}

static bool find(const char *address, enum tern__net_kind kind, struct tern__far_part *far)
{
    int rank;
    uint64_t offset;
    missed = false;
    far->awaited = false;
    for (int i = 0; i < TERN__NETS; i++) {
        far->net = tern__nets_at(i);
        if (far->net != NULL &&
            tern__net_window_find(far->net, address, &far->window, &rank, &offset)) {
            far->rank = far->window.members[rank];
            far->message = (struct tern__net_message){.kind = kind,
                                                      .slot = far->window.slot,
                                                      .number = far->window.number,
                                                      .generation = far->window.generation,
                                                      .rank = rank,
                                                      .offset = offset};
            return true;
        }
    }
    return false;
}

// The connection has ended, and the thread that receives is about to see whether the rank has died,
// which fails the communicator, or left.
static void note_missed(const struct tern__far_part *far)
{
    for (int i = 0; i < END_MS && tern__net_works(far->net); i++) {
        if (tern__net_is_gone(far->net, far->rank)) {
            break;
        }
        poll(NULL, 0, 1);
    }
    missed = missed || tern__net_works(far->net);
}

// Fails the communicator, with the last sentence, if it has to. Whether it was TERN_OK.
static bool went(const struct tern__far_part *far, int status)
{
    if (status == TERN_ERR_PEER) {
        note_missed(far);
    }
    if (status != TERN_OK && status != TERN_ERR_PEER) {
        tern__ctl_comm_fail(far->net->job->ctl, (int)far->window.slot, status, far->window.rank,
                            tern_last_error());
    }
    return status == TERN_OK;
}

static bool send(struct tern__far_part *far, const void *payload, uint64_t bytes)
{
    far->message.bytes = bytes;
    int status = far->awaited ? tern__net_send_awaited(far->net, far->rank, &far->message, payload)
                              : tern__net_send(far->net, far->rank, &far->message, payload);
    return went(far, status);
}

// In pieces, each a message, from the last to the first, whose first word then is stored last.
static bool send_pieces(struct tern__far_part *far, const char *local, size_t bytes, size_t most)
{
    uint64_t begin = far->message.offset;
    size_t piece;
    for (size_t end = bytes; end > 0; end -= piece) {
        piece = end % most != 0 ? end % most : most;
        far->message.offset = begin + end - piece;
        if (!send(far, local + end - piece, piece)) {
            return false;
        }
    }
    return true;
}

static size_t piece_of(const struct tern__far_part *far)
{
    return tern__net_is_carried(far->net, far->message.kind) ? TERN__NET_LONG_PIECE
                                                             : TERN__NET_PIECE;
}

// rings: whoever waits for the data itself is woken.
static void put(char *remote, const char *local, size_t size_bytes, bool rings)
{
    struct tern__far_part far;
    if (find(remote, TERN__NET_PUT, &far)) {
        far.message.word = rings ? TERN__NET_PUT_RINGS : 0;
        send_pieces(&far, local, size_bytes, piece_of(&far));
    }
}

// A notify follows, and rings: a waiter that this woke would find nothing, and sleep again.
static void net_put(char *remote, const char *local, size_t size_bytes)
{
    put(remote, local, size_bytes, false);
}

static void net_put_add(char *remote, const char *local, size_t count, tern_dtype dtype)
{
    struct tern__far_part far;
    if (find(remote, TERN__NET_ADD, &far)) {
        far.message.word = (uint32_t)dtype;
        send_pieces(&far, local, count * tern_dtype_size(dtype), TERN__NET_PACK);
    }
}

// Short rows, put together: `rows` of them from `local` on.
static bool send_rows(struct tern__far_part *far, const char *local, const tern_block *block,
                      size_t rows)
{
    char pack[TERN__NET_PACK];
    for (size_t row = 0; row < rows; row++) {
        tern__memcpy(pack + row * block->row_bytes, local + row * block->local_stride_bytes,
                     block->row_bytes);
    }
    far->message.value = block->row_bytes;
    far->message.more = block->window_stride_bytes;
    return send(far, pack, rows * block->row_bytes);
}

static void net_put_block(char *remote, const char *local, const tern_block *block)
{
    struct tern__far_part far;
    size_t most = block->row_bytes > 0 ? TERN__NET_PACK / 4 / block->row_bytes : 0;
    bool one = block->rows == 1 || (block->window_stride_bytes == block->row_bytes &&
                                    block->local_stride_bytes == block->row_bytes);
    if (one) {
        put(remote, local, block->rows * block->row_bytes, true);
        return;
    }
    if (!find(remote, most > 0 ? TERN__NET_PUT_BLOCK : TERN__NET_PUT, &far)) {
        return;
    }
    uint64_t begin = far.message.offset;
    far.message.word = 1; // long rows ring, too
    most *= 4;
    for (size_t left = block->rows, rows; left > 0; left -= rows) {
        rows = most == 0 ? 1 : left < most ? left : most;
        const char *from = local + (left - rows) * block->local_stride_bytes;
        far.message.offset = begin + (left - rows) * block->window_stride_bytes;
        if (!(most == 0 ? send_pieces(&far, from, block->row_bytes, piece_of(&far))
                        : send_rows(&far, from, block, rows))) {
            return;
        }
    }
}

static void net_get(const char *remote, char *local, size_t size_bytes)
{
    struct tern__far_part far;
    if (size_bytes > 0 && find(remote, TERN__NET_GET, &far)) {
        went(&far, tern__net_fetch(&far, local, size_bytes, NULL));
    }
}

static void net_get_block(const char *remote, char *local, const tern_block *block)
{
    struct tern__far_part far;
    size_t most = block->row_bytes > 0 ? TERN__NET_SCRATCH / block->row_bytes : 0;
    bool one = block->rows == 1 || (block->window_stride_bytes == block->row_bytes &&
                                    block->local_stride_bytes == block->row_bytes);
    if (one) {
        net_get(remote, local, block->rows * block->row_bytes);
        return;
    }
    if (!find(remote, most > 0 ? TERN__NET_GET_BLOCK : TERN__NET_GET, &far)) {
        return;
    }
    uint64_t begin = far.message.offset;
    for (size_t row = 0, rows; row < block->rows; row += rows) {
        char *to = local + row * block->local_stride_bytes;
        far.message.offset = begin + row * block->window_stride_bytes;
        rows = most == 0 ? 1 : block->rows - row < most ? block->rows - row : most;
        tern_block some = *block;
        some.rows = rows;
        if (!went(&far,
                  tern__net_fetch(&far, to, rows * block->row_bytes, most > 0 ? &some : NULL))) {
            return;
        }
    }
}

// On a stream to the same rank the order is kept. What was sent to others is stored there before
// this rank can tell them about the signal.
static void net_notify(char *remote, int32_t value, tern_notify_op op)
{
    struct tern__far_part far;
    if (find(remote, TERN__NET_NOTIFY, &far) && went(&far, tern__net_flush(far.net, far.rank))) {
        far.message.value = (uint32_t)value;
        far.message.word = (uint32_t)op;
        send(&far, NULL, 0);
    }
}

void tern__net_post(char *remote)
{
    struct tern__far_part far;
    if (find(remote, TERN__NET_NOTIFY, &far)) {
        far.awaited = true;
        far.message.value = 1;
        far.message.word = TERN_NOTIFY_ADD;
        send(&far, NULL, 0);
    }
}

// The piece that is sent last takes the post along.
void tern__net_put_post(char *remote, const char *local, size_t bytes, char *signal)
{
    struct tern__far_part far;
    struct tern__far_part at;
    bool one = find(remote, TERN__NET_PUT, &far) && find(signal, TERN__NET_NOTIFY, &at) &&
               far.net == at.net && far.message.slot == at.message.slot &&
               far.message.number == at.message.number && far.message.rank == at.message.rank;
    if (!one) {
        net_put(remote, local, bytes);
        tern__net_post(signal);
        return;
    }
    far.awaited = true;
    uint64_t begin = far.message.offset;
    size_t last = bytes < piece_of(&far) ? bytes : piece_of(&far);
    far.message.offset = begin + last;
    if (send_pieces(&far, local + last, bytes - last, piece_of(&far))) {
        far.message.offset = begin;
        far.message.word = TERN__NET_PUT_POSTS;
        far.message.key = at.message.offset;
        far.message.value = 1;
        far.message.more = TERN_NOTIFY_ADD;
        send(&far, local, last);
    }
}

const struct tern__xport tern__xport_net = {
    .name = "net",
    .is_mapped = false,
    .put = net_put,
    .get = net_get,
    .put_block = net_put_block,
    .get_block = net_get_block,
    .put_add = net_put_add,
    .notify = net_notify,
};

// On this machine, in such a job.
static void near_notify(char *remote, int32_t value, tern_notify_op op)
{
    for (int i = 0; i < TERN__NETS; i++) {
        struct tern__far_part far = {.net = tern__nets_at(i)};
        if (far.net == NULL) {
            continue;
        }
        int status = tern__net_flush(far.net, -1);
        bool goes_on = status == TERN_OK || status == TERN_ERR_PEER;
        if (!goes_on && find(remote, TERN__NET_NOTIFY, &far)) {
            went(&far, status);
        }
        if (!goes_on) {
            return;
        }
    }
    tern__xport_shm.notify(remote, value, op);
}

struct tern__xport tern__xport_near;

static void make_near(void)
{
    tern__xport_near = tern__xport_shm;
    tern__xport_near.notify = near_notify;
}

void tern__net_row_start(struct tern__net *net)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_near);
    tern__net_arrive_start(net);
    tern__net_get_start(net);
    tern__net_windows_start(net);
}
