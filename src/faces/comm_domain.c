// SPDX-License-Identifier: Apache-2.0
// Domains of the comm_* platform API: some ranks of a communicator, with dense ranks of their own,
// in parts of the base windows (derived) or with windows of their own (allocated).

#include "faces/comm_handle.h"

#include <stdlib.h>

#include "base/error.h"

// What the functions are given about a domain.
struct members {
    const char *call;
    const uint32_t *rank_ids;
    size_t rank_count;
    uint32_t domain_rank;
};

static int check_members(CommHandle h, const struct members *given)
{
    uint64_t seen = 0;
    size_t size = h->size;
    uint32_t own = h->rank;
    if (given->rank_count < 1 || given->rank_count > size) {
        tern__set_error("%s: rank_count is %zu; expected 1 to %zu", given->call, given->rank_count,
                        size);
        return -1;
    }
    for (size_t i = 0; i < given->rank_count; i++) {
        uint32_t rank = given->rank_ids[i];
        if (rank >= size || (seen >> rank & 1) != 0) {
            tern__set_error("%s: rank_ids[%zu] is %u, %s", given->call, i, rank,
                            rank >= size ? "and there is no such rank" : "a second time");
            return -1;
        }
        seen |= UINT64_C(1) << rank;
    }
    if (given->domain_rank >= given->rank_count || given->rank_ids[given->domain_rank] != own) {
        tern__set_error("%s: domain_rank is %u, but rank_ids[domain_rank] must be the caller, "
                        "rank %u; rank_count is %zu",
                        given->call, given->domain_rank, own, given->rank_count);
        return -1;
    }
    return 0;
}

// -1 with a sentence, unless it is a handle and no pointer is NULL.
static int check_pointers(const char *call, CommHandle h, const void *first, const void *second,
                          const void *third)
{
    if (tern__handle_check(call, h, TERN__FACE_COMM) != TERN_OK) {
        return -1;
    }
    if (first == NULL || second == NULL || third == NULL) {
        tern__set_error("%s: no argument may be NULL", call);
        return -1;
    }
    return 0;
}

static struct tern__comm_domain *new_domain(const struct members *given, size_t window_size)
{
    struct tern__comm_domain *made = calloc(1, sizeof *made);
    if (made == NULL) {
        tern__set_error("%s: no memory for a domain", given->call);
        return NULL;
    }
    made->rank_count = given->rank_count;
    made->domain_rank = given->domain_rank;
    made->context.rankId = given->domain_rank;
    made->context.rankNum = (uint32_t)given->rank_count;
    made->context.winSize = window_size;
    return made;
}

// Lets go of its memory; waits for nobody.
static int end_domain(CommHandle h, struct tern__comm_domain *domain)
{
    int status = h->backend->end_domain(h, domain);
    free(domain);
    return status;
}

// The handle has it from now on; on failure it is gone.
static int link_domain(CommHandle h, struct tern__comm_domain *domain, uint64_t *device_ctx_out)
{
    if (h->backend->publish(h, domain, device_ctx_out) != 0) {
        (void)end_domain(h, domain);
        return -1;
    }
    domain->next = h->domains;
    h->domains = domain;
    return 0;
}

int comm_derive_context(CommHandle h, const uint32_t *rank_ids, size_t rank_count,
                        uint32_t domain_rank, size_t window_offset, size_t window_size,
                        uint64_t *device_ctx_out)
{
    static const char call[] = "comm_derive_context";
    struct members given = {call, rank_ids, rank_count, domain_rank};
    if (check_pointers(call, h, rank_ids, device_ctx_out, h) != 0) {
        return -1;
    }
    if (h->context == NULL) {
        tern__set_error("%s: there are no windows yet; call comm_alloc_windows first", call);
        return -1;
    }
    if (check_members(h, &given) != 0) {
        return -1;
    }
    size_t size = (size_t)h->context->winSize;
    if (window_size == 0 || window_offset > size || window_size > size - window_offset) {
        tern__set_error("%s: %zu bytes from byte %zu on; the windows have %zu bytes", call,
                        window_size, window_offset, size);
        return -1;
    }
    struct tern__comm_domain *made = new_domain(&given, window_size);
    if (made == NULL) {
        return -1;
    }
    for (size_t i = 0; i < rank_count; i++) {
        tern__comm_place(made, i, h->context->windowsIn[rank_ids[i]] + window_offset);
    }
    return link_domain(h, made, device_ctx_out);
}

static struct tern__comm_domain **find_domain(CommHandle h, uint64_t allocation_id)
{
    struct tern__comm_domain **at = &h->domains;
    while (*at != NULL && (!(*at)->allocated || (*at)->allocation_id != allocation_id)) {
        at = &(*at)->next;
    }
    return at;
}

int comm_alloc_domain_windows(CommHandle h, uint64_t allocation_id, const uint32_t *rank_ids,
                              size_t rank_count, uint32_t domain_rank, size_t window_size,
                              uint64_t *device_ctx_out, uint64_t *local_window_base_out)
{
    static const char call[] = "comm_alloc_domain_windows";
    struct members given = {call, rank_ids, rank_count, domain_rank};
    if (check_pointers(call, h, rank_ids, device_ctx_out, local_window_base_out) != 0 ||
        check_members(h, &given) != 0) {
        return -1;
    }
    if (window_size == 0) {
        tern__set_error("%s: window_size is 0; a window has at least 1 byte", call);
        return -1;
    }
    if (*find_domain(h, allocation_id) != NULL) {
        tern__set_error("%s: allocation %llu is alive; release it, or take another number", call,
                        (unsigned long long)allocation_id);
        return -1;
    }
    struct tern__comm_domain *made = new_domain(&given, window_size);
    if (made == NULL) {
        return -1;
    }
    made->allocated = true;
    made->allocation_id = allocation_id;
    if (h->backend->make_domain(h, made, rank_ids, window_size) != 0) {
        (void)end_domain(h, made);
        return -1;
    }
    if (link_domain(h, made, device_ctx_out) != 0) {
        return -1;
    }
    *local_window_base_out = made->context.windowsIn[domain_rank];
    return 0;
}

int comm_release_domain_windows(CommHandle h, uint64_t allocation_id, size_t rank_count,
                                uint32_t domain_rank)
{
    static const char call[] = "comm_release_domain_windows";
    if (check_pointers(call, h, h, h, h) != 0) {
        return -1;
    }
    struct tern__comm_domain **at = find_domain(h, allocation_id);
    struct tern__comm_domain *domain = *at;
    if (domain == NULL) {
        tern__set_error("%s: this rank has no allocation %llu", call,
                        (unsigned long long)allocation_id);
        return -1;
    }
    if (rank_count != domain->rank_count || domain_rank != domain->domain_rank) {
        tern__set_error("%s: allocation %llu is of %zu ranks, of which the caller is rank %u; "
                        "given are rank_count %zu and domain_rank %u",
                        call, (unsigned long long)allocation_id, domain->rank_count,
                        domain->domain_rank, rank_count, domain_rank);
        return -1;
    }
    int met = h->backend->domain_barrier(h, domain);
    *at = domain->next;
    int ended = end_domain(h, domain);
    return met != 0 ? met : ended;
}

int tern__comm_domains_end(CommHandle h)
{
    int status = 0;
    while (h->domains != NULL) {
        struct tern__comm_domain *domain = h->domains;
        h->domains = domain->next;
        status = end_domain(h, domain) != 0 ? -1 : status;
    }
    return status;
}
