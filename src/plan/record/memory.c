// SPDX-License-Identifier: Apache-2.0
// Memory of devices that are not there: addresses are reserved and nothing may follow them, so a
// host that reads them is caught. Behind each buffer there is a gap, so an address past the end is
// known for what it is.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/kind.h"
#include "plan/record/record.h"

#define GAP (UINT64_C(64) << 20)
#define ALIGNMENT (UINT64_C(2) << 20)

static uint64_t place_bytes(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
}

// An address for each byte of a buffer; NULL: after a finding.
static void *add_memory(struct recording *recording, const struct record_memory *memory)
{
    if (!tern__record_grow((void **)&recording->memory, &recording->memory_room,
                           recording->memory_count, sizeof *memory)) {
        tern__record_finding(TERN_ERR_MEMORY, "not enough memory for the buffers of all ranks");
        return NULL;
    }
    void *base = mmap(NULL, place_bytes(memory->bytes) + ALIGNMENT, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        tern__record_finding(TERN_ERR_LIMIT,
                             "the addresses of %s of rank %d, %llu bytes, cannot be reserved",
                             memory->name, memory->rank, (unsigned long long)memory->bytes);
        return NULL;
    }
    struct record_memory *added = &recording->memory[recording->memory_count++];
    *added = *memory;
    added->base = ((uintptr_t)base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return (void *)added->base; // NOLINT(performance-no-int-to-ptr)
}

static uint64_t extent_bytes(const struct recording *recording, tern_kind_extent extent)
{
    const tern_record_request *request = &recording->request;
    const tern_kind_facts *facts = tern_coll_kind_facts(request->kind);
    bool shares = facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
    return extent == TERN_KIND_ONE && shares ? request->bytes / (uint64_t)recording->nranks
                                             : request->bytes;
}

static bool map_rank(struct recording *recording, int rank)
{
    const tern_record_request *request = &recording->request;
    const tern_kind_facts *facts = tern_coll_kind_facts(request->kind);
    struct record_memory parts[] = {
        {.bytes = extent_bytes(recording, facts->in), .buffer = TERN_PLAN_IN, .name = "user input"},
        {.bytes = extent_bytes(recording, facts->out),
         .buffer = TERN_PLAN_OUT,
         .name = "user output"},
        {.bytes = request->ccl_bytes, .buffer = TERN_PLAN_SCRATCH, .ccl = true, .name = "CCL_In"},
        {.bytes = request->ccl_bytes,
         .buffer = TERN_PLAN_SCRATCH,
         .ccl = true,
         .offset = request->ccl_bytes,
         .name = "CCL_Out"},
    };
    bool there[] = {tern__kind_has_in(request->kind, rank, request->root),
                    tern__kind_has_out(request->kind, rank, request->root), true, true};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        parts[i].rank = rank;
        if (!there[i]) {
            parts[i].bytes = 0; // all ranks have as many entries
        }
        if (add_memory(recording, &parts[i]) == NULL) {
            return false;
        }
    }
    recording->ranks[rank].scratch_bytes = 2 * request->ccl_bytes;
    return true;
}

int tern__record_map(struct recording *recording)
{
    for (int rank = 0; rank < recording->nranks; rank++) {
        if (!map_rank(recording, rank)) {
            return recording->status;
        }
    }
    return TERN_OK;
}

static void *address_of(const struct record_memory *memory)
{
    return memory->bytes > 0 || memory->ccl ? (void *)memory->base // NOLINT
                                            : NULL;
}

void tern__record_set_call(struct recording *recording, int rank)
{
    const tern_record_request *request = &recording->request;
    const struct record_memory *own = &recording->memory[(size_t)rank * 4];
    const tern_kind_facts *facts = tern_coll_kind_facts(request->kind);
    bool shares = facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
    uint64_t bytes = request->bytes / (shares ? (uint64_t)recording->nranks : 1);
    recording->call = (tern_record_call){
        .rank = rank,
        .nranks = recording->nranks,
        .kind = request->kind,
        .count = bytes / request->unit,
        .dtype = recording->dtype,
        .op = recording->op,
        .root = request->root,
        .in = address_of(&own[0]),
        .in_bytes = own[0].bytes,
        .out = address_of(&own[1]),
        .out_bytes = own[1].bytes,
        .ccl_in = address_of(&own[2]),
        .ccl_out = address_of(&own[3]),
        .ccl_bytes = request->ccl_bytes,
    };
    recording->shared->rank = rank;
}

void *tern_record_alloc(uint64_t bytes)
{
    struct recording *recording = tern__recording;
    if (recording == NULL) {
        return NULL;
    }
    struct record_rank *rank = &recording->ranks[recording->call.rank];
    if (bytes > TERN_PLAN_BYTES_MAX - rank->scratch_bytes) {
        tern__record_finding(TERN_ERR_LIMIT, "rank %d allocates %llu bytes; the limit is 2^48",
                             recording->call.rank, (unsigned long long)bytes);
        return NULL;
    }
    struct record_memory memory = {.bytes = bytes,
                                   .rank = recording->call.rank,
                                   .buffer = TERN_PLAN_SCRATCH,
                                   .offset = rank->scratch_bytes,
                                   .name = "allocated memory"};
    void *address = add_memory(recording, &memory);
    rank->scratch_bytes += (bytes + 63) / 64 * 64;
    return address;
}

const struct record_memory *tern__record_memory_at(const struct recording *recording,
                                                   const void *address)
{
    uintptr_t wanted = (uintptr_t)address;
    for (size_t i = 0; i < recording->memory_count; i++) {
        const struct record_memory *memory = &recording->memory[i];
        if (wanted >= memory->base && wanted - memory->base < place_bytes(memory->bytes)) {
            return memory;
        }
    }
    return NULL;
}

void tern__record_address_text(const struct recording *recording, const void *address, char *text,
                               size_t size)
{
    const struct record_memory *memory = tern__record_memory_at(recording, address);
    if (memory != NULL) {
        snprintf(text, size, "byte %llu of %s of rank %d: the host must not touch device memory",
                 (unsigned long long)((uintptr_t)address - memory->base), memory->name,
                 memory->rank);
    } else if ((uintptr_t)address < 65536) {
        snprintf(text, size, "a null pointer; a link that is missing is one");
    } else {
        snprintf(text, size, "address %p, which is no memory", address);
    }
}
