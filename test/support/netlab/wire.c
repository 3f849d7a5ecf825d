// SPDX-License-Identifier: Apache-2.0
// A switch in user space between TAP devices. Each host has a full-duplex link of a rate to it,
// and a frame arrives after the one-way delay. A frame takes the time of its bits once
// (cut-through), on the slower of the sender's and the receiver's port. Frames that the kernel
// has not yet segmented pass whole, and pay for the headers and gaps of every segment.
#include "netlab.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <linux/virtio_net.h>

enum {
    FRAME_BYTES = 68 * 1024, // an unsegmented frame and its virtio header
    GAP_BYTES = 24,          // preamble, checksum and gap of each frame on the wire
    BATCH = 16,              // frames read of one port in a turn
    AHEAD_NS = 1000000,      // a sender that is as far ahead of its link waits in its own queue
    QUEUE_NS = 200000000,    // what would wait longer at the receiver's port is dropped
};

struct frame {
    struct frame *next;
    int64_t arrival_ns; // at the receiver's port, if that is free
    int64_t takes_ns;
    size_t bytes;
    unsigned char data[FRAME_BYTES];
};

struct port {
    int fd;
    int64_t sent_ns;     // when the link from the host is free
    int64_t received_ns; // when the link to the host is free
    int64_t queued_ns;   // what all that is under way to the host takes on its link
    struct frame *first; // that, by arrival
};

static struct frame *spare;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct frame *take_frame(void)
{
    struct frame *taken = spare;
    if (taken == NULL) {
        return malloc(sizeof *taken);
    }
    spare = taken->next;
    return taken;
}

static void give_frame(struct frame *frame)
{
    frame->next = spare;
    spare = frame;
}

static int64_t time_on_link(const struct frame *frame, double gbit)
{
    struct virtio_net_hdr head;
    memcpy(&head, frame->data, sizeof head);
    size_t bytes = frame->bytes - sizeof head;
    size_t segments = 1;
    size_t headers = head.hdr_len;
    if (head.gso_type != VIRTIO_NET_HDR_GSO_NONE && head.gso_size > 0 && bytes > headers) {
        segments = (bytes - headers + head.gso_size - 1) / head.gso_size;
    }
    double sent = (double)(bytes + (segments - 1) * headers + segments * GAP_BYTES);
    return gbit > 0 ? (int64_t)(sent * 8 / gbit) : 0;
}

static int64_t due_of(const struct port *port, const struct frame *frame)
{
    int64_t due = port->received_ns + frame->takes_ns;
    return due > frame->arrival_ns ? due : frame->arrival_ns;
}

// Delivers what is due; when the next frame is, or INT64_MAX.
static int64_t deliver(struct port *port, bool cut)
{
    while (port->first != NULL && due_of(port, port->first) <= now_ns()) {
        struct frame *frame = port->first;
        port->first = frame->next;
        port->received_ns = due_of(port, frame);
        port->queued_ns -= frame->takes_ns;
        // A host that takes nothing more loses the frame, as on a real network.
        ssize_t done = cut ? 0 : write(port->fd, frame->data, frame->bytes);
        (void)done;
        give_frame(frame);
    }
    return port->first != NULL ? due_of(port, port->first) : INT64_MAX;
}

// Who arrives first is first at the receiver's port, whoever was taken first.
static void insert(struct port *to, struct frame *frame, int64_t arrival_ns, int64_t takes_ns)
{
    if (to->queued_ns > QUEUE_NS) {
        give_frame(frame);
        return;
    }
    frame->arrival_ns = arrival_ns;
    frame->takes_ns = takes_ns;
    to->queued_ns += takes_ns;
    struct frame **at = &to->first;
    while (*at != NULL && (*at)->arrival_ns <= arrival_ns) {
        at = &(*at)->next;
    }
    frame->next = *at;
    *at = frame;
}

// A host's address ends in its number, counted from 1; what goes to all is copied for each.
static void forward(const struct wire *wire, struct port *ports, int from, struct frame *frame)
{
    const unsigned char *to = frame->data + sizeof(struct virtio_net_hdr);
    bool all = (to[0] & 1) != 0;
    int64_t now = now_ns();
    int64_t takes = time_on_link(frame, wire->gbit);
    struct port *sender = &ports[from];
    sender->sent_ns = (sender->sent_ns > now ? sender->sent_ns : now) + takes;
    int64_t arrival = sender->sent_ns + wire->delay_ns;
    for (int i = 0; i < wire->count && all; i++) {
        struct frame *copy = i != from ? take_frame() : NULL;
        if (copy != NULL) {
            copy->bytes = frame->bytes;
            memcpy(copy->data, frame->data, frame->bytes);
            insert(&ports[i], copy, arrival, takes);
        }
    }
    int one = to[5] - 1;
    if (all || one < 0 || one >= wire->count || one == from) {
        give_frame(frame);
    } else {
        insert(&ports[one], frame, arrival, takes);
    }
}

// Not more than its link can soon send: what is taken is under way, whatever comes of its host.
static void read_port(const struct wire *wire, struct port *ports, int from)
{
    for (int i = 0; i < BATCH && ports[from].sent_ns - AHEAD_NS <= now_ns(); i++) {
        struct frame *frame = take_frame();
        if (frame == NULL) {
            return; // it stays in the host's queue
        }
        ssize_t got = read(ports[from].fd, frame->data, sizeof frame->data);
        if (got <= (ssize_t)sizeof(struct virtio_net_hdr) + 6) {
            give_frame(frame);
            return;
        }
        frame->bytes = (size_t)got;
        if ((wire->cables[from] & CUT_FROM) != 0) {
            give_frame(frame);
        } else {
            forward(wire, ports, from, frame);
        }
    }
}

void netlab_switch(const struct wire *wire)
{
    struct port ports[NETLAB_HOSTS] = {0};
    struct pollfd wait[NETLAB_HOSTS + 2];
    int count = wire->count;
    prctl(PR_SET_TIMERSLACK, 1);
    for (int i = 0; i < count; i++) {
        ports[i].fd = wire->ports[i];
    }
    for (;;) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < count; i++) {
            int64_t due = deliver(&ports[i], (wire->cables[i] & CUT_TO) != 0);
            next = due < next ? due : next;
        }
        int64_t now = now_ns();
        for (int i = 0; i < count; i++) {
            int64_t free_ns = ports[i].sent_ns - AHEAD_NS;
            wait[i] = (struct pollfd){.fd = ports[i].fd, .events = free_ns <= now ? POLLIN : 0};
            next = free_ns > now && free_ns < next ? free_ns : next;
        }
        wait[count] = (struct pollfd){.fd = wire->ends[0], .events = POLLIN};
        wait[count + 1] = (struct pollfd){.fd = wire->ends[1], .events = POLLIN};
        int64_t left = next > now ? next - now : 0;
        struct timespec limit = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        int ready = ppoll(wait, (nfds_t)count + 2, next != INT64_MAX ? &limit : NULL, NULL);
        if (ready < 0 && errno != EINTR) {
            return;
        }
        if (ready > 0 && (wait[count].revents != 0 || wait[count + 1].revents != 0)) {
            return;
        }
        for (int i = 0; i < count && ready > 0; i++) {
            if ((wait[i].revents & POLLIN) != 0) {
                read_port(wire, ports, i);
            }
        }
    }
}
