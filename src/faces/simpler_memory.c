// SPDX-License-Identifier: Apache-2.0
// Memory of the device, and what a runtime keeps for its end: what it has to free, what it has to
// copy back, and what failed first.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "faces/acl/acl.h"
#include "faces/simpler.h"

int tern__simpler_tell(const char *call, int status)
{
    if (status == TERN_OK) {
        return 0;
    }
    fprintf(stderr, "%s: %s\n", call, tern_last_error());
    return TERN_SIMPLER_FAILED + status;
}

void tern__simpler_note(struct simpler *runtime, int status)
{
    if (status < 0 && runtime->status == TERN_OK) {
        runtime->status = status;
    }
}

void *device_malloc(size_t size)
{
    void *memory = NULL;
    return aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS ? memory : NULL;
}

void device_free(void *memory)
{
    aclrtFree(memory);
}

void *tern__simpler_malloc(struct simpler *runtime, size_t size)
{
    if (runtime->owned_count == runtime->owned_room) {
        size_t room = 2 * runtime->owned_room + 16;
        void **owned = realloc(runtime->owned, room * sizeof(void *));
        if (owned == NULL) {
            tern__set_error("no memory for the device");
            return NULL;
        }
        runtime->owned = owned;
        runtime->owned_room = room;
    }
    void *memory = device_malloc(size);
    if (memory != NULL) {
        runtime->owned[runtime->owned_count++] = memory;
    }
    return memory;
}

void tern__simpler_free(struct simpler *runtime, void *memory)
{
    for (size_t i = runtime->owned_count; i-- > 0;) {
        if (runtime->owned[i] == memory) {
            runtime->owned[i] = runtime->owned[--runtime->owned_count];
            break;
        }
    }
    device_free(memory);
}

static int copy(const char *call, void *to, const void *from, size_t size)
{
    if (size > 0 && (to == NULL || from == NULL)) {
        return tern__simpler_tell(call, tern__fail(TERN_ERR_ARG, "%zu bytes from %p to %p", size,
                                                   from, to));
    }
    if (size > 0) {
        tern__memcpy(to, from, size);
    }
    return 0;
}

int copy_to_device(void *device, const void *host, size_t size)
{
    return copy("copy_to_device", device, host, size);
}

int copy_from_device(void *host, const void *device, size_t size)
{
    return copy("copy_from_device", host, device, size);
}

int tern__simpler_record(struct simpler *runtime, void *host, const void *device, size_t size)
{
    if (host == NULL || device == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "record_tensor_pair: host %p and device %p; neither may be "
                          "NULL",
                          host, device);
    }
    if (runtime->pairs_count == runtime->pairs_room) {
        size_t room = 2 * runtime->pairs_room + 16;
        struct simpler_pair *pairs = realloc(runtime->pairs, room * sizeof *pairs);
        if (pairs == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "record_tensor_pair: no memory");
        }
        runtime->pairs = pairs;
        runtime->pairs_room = room;
    }
    runtime->pairs[runtime->pairs_count++] = (struct simpler_pair){host, device, size};
    return TERN_OK;
}
