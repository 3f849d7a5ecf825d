// SPDX-License-Identifier: Apache-2.0
// Domains: ranges of the node's window, the same in all parts, so that a range is taken without
// asking a chip. Memory is zeroed when it is given back, which is when no task can use it any more.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "graph/chip.h"
#include "node/node.h"
#include "tern/put.h"

static int read_chips(const tern_node *node, const int *chips, int count,
                      struct tern__node_domain *shape)
{
    const char *call = "tern_domain_create";
    if (count < 0 || count > node->chips || (chips == NULL && count > 0)) {
        return tern__fail(TERN_ERR_ARG, "%s: %d chips at %p; the node has %d", call, count,
                          (const void *)chips, node->chips);
    }
    for (int i = 0; i < count; i++) {
        if (chips[i] < 0 || chips[i] >= node->chips ||
            memchr(shape->ranks, chips[i] + 1, (size_t)i) != NULL) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: chips[%d] is %d; a domain has different ones of 0..%d", call, i,
                              chips[i], node->chips - 1);
        }
        shape->ranks[i] = (uint8_t)(chips[i] + 1);
    }
    shape->count = (uint32_t)count;
    return TERN_OK;
}

// The largest piece that is free.
static size_t most_free(const struct tern__extents *memory)
{
    size_t most = 0;
    for (size_t i = 0; i < memory->count; i++) {
        if (memory->list[i].state != TERN__EXTENT_USED && memory->list[i].bytes > most) {
            most = memory->list[i].bytes;
        }
    }
    return most;
}

// Under the lock.
static int take(tern_node *node, size_t size_bytes, struct tern__node_domain *shape)
{
    bool was_clean;
    const ptrdiff_t index = tern__extents_take(&node->memory, size_bytes, &was_clean);
    if (index < 0) {
        return tern__fail(TERN_ERR_MEMORY,
                          "tern_domain_create: no memory for %zu bytes: of the node's memory at "
                          "most %zu in a piece are free (memory_bytes of its options)",
                          size_bytes, most_free(&node->memory));
    }
    shape->offset = TERN__NODE_MAIL_BYTES + node->memory.list[index].begin;
    shape->bytes = size_bytes;
    shape->number = node->domains_made++;
    return TERN_OK;
}

static int domain_create(tern_node *node, const int *chips, int count, size_t size_bytes,
                         tern_domain **domain)
{
    struct tern__node_domain shape = {0};
    TERN_TRY(tern__handle_check("tern_domain_create", node, TERN__NODE));
    if (domain == NULL || size_bytes == 0) {
        return tern__fail(TERN_ERR_ARG, "tern_domain_create: %s",
                          domain == NULL ? "domain must not be NULL" : "it must have a byte");
    }
    TERN_TRY(read_chips(node, chips, count, &shape));
    TERN_TRY(tern__comm_check(node->comm));
    tern_domain *made = tern__handle_new(TERN__DOMAIN, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_domain_create: no memory");
    }
    pthread_mutex_lock(&node->lock);
    const int status = take(node, size_bytes, &shape);
    if (status == TERN_OK) {
        made->node = node;
        made->shape = shape;
        made->next = node->domains;
        node->domains = made;
    }
    pthread_mutex_unlock(&node->lock);
    if (status != TERN_OK) {
        tern__handle_free(made, sizeof *made);
        return status;
    }
    *domain = made;
    return TERN_OK;
}

int tern_domain_create(tern_node *node, const int *chips, int count, size_t size_bytes,
                       tern_domain **domain)
{
    return TERN__CALL(domain_create(node, chips, count, size_bytes, domain));
}

static void clear(const tern_node *node, int rank, const struct tern__node_domain *shape)
{
    static const char zeros[1 << 16];
    for (uint64_t at = 0; at < shape->bytes; at += sizeof zeros) {
        const uint64_t left = shape->bytes - at;
        tern_status_ignore(tern_put(node->window, rank, shape->offset + at, zeros,
                                    left < sizeof zeros ? left : sizeof zeros));
    }
}

void tern__node_collect(tern_node *node)
{
    while (node->destroyed != NULL) {
        tern_domain *domain = node->destroyed;
        node->destroyed = domain->next;
        clear(node, 0, &domain->shape);
        for (uint32_t i = 0; i < domain->shape.count; i++) {
            clear(node, domain->shape.ranks[i], &domain->shape);
        }
        tern__extents_give(&node->memory, domain->shape.offset - TERN__NODE_MAIL_BYTES, true);
        free(domain);
    }
}

// The handle ends; its memory is remembered without it.
static int domain_destroy(tern_domain *domain)
{
    if (domain == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(domain, TERN__DOMAIN)) {
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_domain_destroy", domain, TERN__DOMAIN));
    tern_node *node = domain->node;
    tern_domain *left = malloc(sizeof *left);
    if (left == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_domain_destroy: no memory");
    }
    pthread_mutex_lock(&node->lock);
    tern_domain **place = &node->domains;
    while (*place != domain) {
        place = &(*place)->next;
    }
    *place = domain->next;
    left->shape = domain->shape;
    left->next = node->destroyed;
    node->destroyed = left;
    if (!node->launched) {
        tern__node_collect(node);
    }
    pthread_mutex_unlock(&node->lock);
    tern__handle_free(domain, sizeof *domain);
    return TERN_OK;
}

int tern_domain_destroy(tern_domain *domain)
{
    return TERN__CALL_OF_CALLS(domain_destroy(domain));
}

// Which rank a member is.
static int find_member(const char *call, const tern_domain *domain, int member, int *rank)
{
    TERN_TRY(tern__handle_check(call, domain, TERN__DOMAIN));
    if (member != TERN_NODE_HOST && (member < 0 || (uint32_t)member >= domain->shape.count)) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: there is no member %d; the domain has %u, and TERN_NODE_HOST", call,
                          member, domain->shape.count);
    }
    *rank = member == TERN_NODE_HOST ? 0 : domain->shape.ranks[member];
    return TERN_OK;
}

void *tern_domain_address(const tern_domain *domain, int member)
{
    int rank;
    return find_member("tern_domain_address", domain, member, &rank) == TERN_OK
               ? tern__window_at(domain->node->window, rank, domain->shape.offset)
               : NULL;
}

static int check_range(const char *call, const tern_domain *domain, int member, size_t offset_bytes,
                       size_t size_bytes, int *rank)
{
    TERN_TRY(find_member(call, domain, member, rank));
    const uint64_t bytes = domain->shape.bytes;
    return offset_bytes <= bytes && size_bytes <= bytes - offset_bytes
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: bytes %zu to %zu; the domain has %llu", call,
                            offset_bytes, offset_bytes + size_bytes, (unsigned long long)bytes);
}

static int domain_write(tern_domain *domain, int member, size_t offset_bytes, const void *local,
                        size_t size_bytes)
{
    int rank;
    TERN_TRY(check_range("tern_domain_write", domain, member, offset_bytes, size_bytes, &rank));
    return tern_put(domain->node->window, rank, domain->shape.offset + offset_bytes, local,
                    size_bytes);
}

int tern_domain_write(tern_domain *domain, int member, size_t offset_bytes, const void *local,
                      size_t size_bytes)
{
    return TERN__CALL_OF_CALLS(domain_write(domain, member, offset_bytes, local, size_bytes));
}

static int domain_read(tern_domain *domain, int member, size_t offset_bytes, void *local,
                       size_t size_bytes)
{
    int rank;
    TERN_TRY(check_range("tern_domain_read", domain, member, offset_bytes, size_bytes, &rank));
    return tern_get(domain->node->window, rank, domain->shape.offset + offset_bytes, local,
                    size_bytes);
}

int tern_domain_read(tern_domain *domain, int member, size_t offset_bytes, void *local,
                     size_t size_bytes)
{
    return TERN__CALL_OF_CALLS(domain_read(domain, member, offset_bytes, local, size_bytes));
}
