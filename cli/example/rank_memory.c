// SPDX-License-Identifier: Apache-2.0
// Where the buffers of a rank lie, what is in them before a round, and their files.
//
// Window buffers are behind the prefix in the order of the command line, without padding. What is
// not an input begins as 0 in the window, where signals count from 0; elsewhere it begins as
// canaries (rank_words.c), since memory of a device has no value before somebody writes it. A
// buffer that has nothing but canaries when it is saved was written by nobody. Behind the window,
// and behind each buffer that is not in it, is a guard: a kernel that writes there fails.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "example/rank.h"

enum { HOST_ALIGNMENT = 64, GUARD_BYTES = 64, GUARD_BYTE = 0xc3 };

static bool has_canaries(const struct rank_buffer *buffer)
{
    return buffer->place != RANK_WINDOW && !buffer->loads;
}

static void fill_canaries(struct rank_buffer *buffer)
{
    char *to = buffer->memory;
    for (uint64_t i = 0; i < buffer->count; i++) {
        memcpy(to + i * buffer->type->bytes, &buffer->type->canary, buffer->type->bytes);
    }
}

// Whether not one element has been written.
static bool is_untouched(const struct rank_buffer *buffer)
{
    const char *from = buffer->memory;
    for (uint64_t i = 0; i < buffer->count; i++) {
        if (memcmp(from + i * buffer->type->bytes, &buffer->type->canary, buffer->type->bytes) !=
            0) {
            return false;
        }
    }
    return true;
}

// Guards.

// Of a buffer, or NULL: of the window.
static int check_guard(const struct rank_job *job, const struct rank_buffer *buffer,
                       const void *memory, size_t bytes)
{
    const uint8_t *guard = (const uint8_t *)memory + bytes;
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (guard[i] != GUARD_BYTE) {
            return rank_fail(job, RANK_EXIT_KERNEL,
                             "a kernel has written behind the end of %s%s%s: at byte %zu of %zu",
                             buffer != NULL ? "buffer '" : "the window",
                             buffer != NULL ? buffer->name : "", buffer != NULL ? "'" : "",
                             bytes + i, bytes);
        }
    }
    return 0;
}

// Files.

static void name_file(const struct rank_job *job, const char *name, const char *end, char *path)
{
    snprintf(path, RANK_PATH_BYTES, "%s/rank_%d/%s%s", job->data, job->rank, name, end);
}

static void name_unwritten(const struct rank_job *job, char *path)
{
    name_file(job, "unwritten", "", path);
}

// Exactly `size` bytes; false with errno, which is 0 at an early end.
static bool read_exactly(int fd, char *to, size_t size)
{
    errno = 0;
    while (size > 0) {
        ssize_t got = read(fd, to, size);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        to += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static int open_file(const struct rank_job *job, const char *path, size_t *size, int *fd)
{
    struct stat about;
    *size = 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &about) != 0) {
        return rank_fail(job, RANK_EXIT_FILE, "cannot read %s: %s", path, strerror(errno));
    }
    *size = (size_t)about.st_size;
    return 0;
}

int rank_read_file(const struct rank_job *job, const char *path, uint8_t **bytes, size_t *size)
{
    int fd;
    int status = open_file(job, path, size, &fd);
    *bytes = status == 0 ? malloc(*size + 1) : NULL;
    if (status == 0 && (*bytes == NULL || !read_exactly(fd, (char *)*bytes, *size))) {
        status = rank_fail(job, RANK_EXIT_FILE, "cannot read %s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static int load(const struct rank_job *job, struct rank_buffer *buffer)
{
    char path[RANK_PATH_BYTES];
    int fd;
    size_t size = 0;
    name_file(job, buffer->name, ".bin", path);
    int status = open_file(job, path, &size, &fd);
    if (status == 0 && size != buffer->bytes) {
        status =
            rank_fail(job, RANK_EXIT_SIZE, "input '%s': %s has %zu bytes; %" PRIu64 " x %s are %zu",
                      buffer->name, path, size, buffer->count, buffer->type->name, buffer->bytes);
    } else if (status == 0 && !read_exactly(fd, buffer->memory, size)) {
        status = rank_fail(job, RANK_EXIT_FILE, "cannot read %s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static int save(const struct rank_job *job, const struct rank_buffer *buffer)
{
    char path[RANK_PATH_BYTES];
    name_file(job, buffer->name, ".bin", path);
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(buffer->memory, 1, buffer->bytes, file) == buffer->bytes;
    written = file != NULL && fclose(file) == 0 && written;
    if (!written) {
        return rank_fail(job, RANK_EXIT_FILE, "cannot write %s: %s", path, strerror(errno));
    }
    rank_say(job, "Saved '%s' to %s", buffer->name, path);
    return 0;
}

// Says of a buffer that nobody wrote it, also in the file that the runner reads.
static int tell_untouched(const struct rank_job *job, const struct rank_buffer *buffer)
{
    char path[RANK_PATH_BYTES];
    name_unwritten(job, path);
    FILE *file = fopen(path, "a");
    bool written = file != NULL && fprintf(file, "%s\n", buffer->name) > 0;
    written = file != NULL && fclose(file) == 0 && written;
    rank_say(job, "Buffer '%s': no kernel wrote it on this rank", buffer->name);
    return written ? 0
                   : rank_fail(job, RANK_EXIT_FILE, "cannot write %s: %s", path, strerror(errno));
}

int rank_save(struct rank_job *job)
{
    int status = 0;
    for (int i = 0; i < job->buffers_count && status == 0; i++) {
        const struct rank_buffer *buffer = &job->buffers[i];
        if (!buffer->saves) {
            continue;
        }
        status = save(job, buffer);
        if (status == 0 && has_canaries(buffer) && is_untouched(buffer)) {
            status = tell_untouched(job, buffer);
        }
    }
    return status;
}

// Memory.

// What an earlier run has left must not pass for the result of this one.
static int remove_results(const struct rank_job *job)
{
    char path[RANK_PATH_BYTES];
    name_file(job, "", "", path);
    if (access(path, W_OK) != 0) { // better now than after the run
        return rank_fail(job, RANK_EXIT_FILE, "cannot write to the folder %s: %s", path,
                         strerror(errno));
    }
    name_unwritten(job, path);
    int status = unlink(path) == 0 || errno == ENOENT ? 0 : -1;
    for (int i = 0; i < job->buffers_count && status == 0; i++) {
        if (job->buffers[i].saves && !job->buffers[i].loads) {
            name_file(job, job->buffers[i].name, ".bin", path);
            status = unlink(path) == 0 || errno == ENOENT ? 0 : -1;
        }
    }
    return status == 0
               ? 0
               : rank_fail(job, RANK_EXIT_FILE, "cannot remove %s: %s", path, strerror(errno));
}

static void say_place(const struct rank_job *job, const struct rank_buffer *buffer)
{
    static const char *const places[] = {
        [RANK_WINDOW] = "window", [RANK_DEVICE] = "device", [RANK_HOST] = "host"};
    rank_say(job, "Buffer '%s': %s %" PRIu64 "x%s=%zuB @ %p", buffer->name, places[buffer->place],
             buffer->count, buffer->type->name, buffer->bytes, buffer->memory);
}

static int place_buffer(struct rank_job *job, struct rank_buffer *buffer, size_t *offset)
{
    char *base = tern_window_address(job->window, job->rank);
    switch (buffer->place) {
    case RANK_WINDOW:
        buffer->memory = base + *offset;
        *offset += buffer->bytes;
        break;
    case RANK_DEVICE:
        buffer->memory = device_malloc(buffer->bytes + GUARD_BYTES);
        break;
    case RANK_HOST:
        buffer->memory =
            aligned_alloc(HOST_ALIGNMENT, (buffer->bytes + GUARD_BYTES + HOST_ALIGNMENT - 1) /
                                              HOST_ALIGNMENT * HOST_ALIGNMENT);
        break;
    }
    if (buffer->memory == NULL) {
        return rank_fail(job, RANK_EXIT_MEMORY, "buffer '%s': no memory for %" PRIu64 " x %s: %s",
                         buffer->name, buffer->count, buffer->type->name,
                         buffer->place == RANK_DEVICE ? tern_last_error() : strerror(errno));
    }
    say_place(job, buffer);
    return 0;
}

static size_t window_bytes(const struct rank_job *job)
{
    size_t bytes = (size_t)job->prefix;
    for (int i = 0; i < job->buffers_count; i++) {
        bytes += job->buffers[i].place == RANK_WINDOW ? job->buffers[i].bytes : 0;
    }
    return bytes;
}

int rank_place(struct rank_job *job)
{
    size_t bytes = window_bytes(job);
    size_t offset = (size_t)job->prefix;
    int status = remove_results(job);
    if (status != 0) {
        return status;
    }
    if (tern_window_create(job->comm, bytes + GUARD_BYTES, NULL, &job->window) != TERN_OK) {
        return rank_fail(job, RANK_EXIT_COMM, "no windows of %zu bytes: %s", bytes,
                         tern_last_error());
    }
    if (tern_window_create(job->comm, sizeof(int32_t), NULL, &job->ends) != TERN_OK) {
        return rank_fail(job, RANK_EXIT_COMM, "no window for a signal: %s", tern_last_error());
    }
    rank_say(job, "Comm initialized, local_base=%p", tern_window_address(job->window, job->rank));
    for (int i = 0; i < job->buffers_count && status == 0; i++) {
        status = place_buffer(job, &job->buffers[i], &offset);
    }
    return status;
}

int rank_stage(struct rank_job *job, bool first)
{
    int status = 0;
    size_t bytes = window_bytes(job);
    char *window = tern_window_address(job->window, job->rank);
    if (!first) { // a new window is zero already, and costs no memory before it is used
        memset(window, 0, bytes);
    }
    memset(window + bytes, GUARD_BYTE, GUARD_BYTES);
    for (int i = 0; i < job->buffers_count && status == 0; i++) {
        struct rank_buffer *buffer = &job->buffers[i];
        if (buffer->place != RANK_WINDOW) {
            memset((char *)buffer->memory + buffer->bytes, GUARD_BYTE, GUARD_BYTES);
        }
        if (has_canaries(buffer)) {
            fill_canaries(buffer);
        } else if (buffer->loads) {
            status = load(job, buffer);
        }
    }
    return status;
}

int rank_check(const struct rank_job *job)
{
    int status =
        check_guard(job, NULL, tern_window_address(job->window, job->rank), window_bytes(job));
    for (int i = 0; i < job->buffers_count && status == 0; i++) {
        const struct rank_buffer *buffer = &job->buffers[i];
        if (buffer->place != RANK_WINDOW) {
            status = check_guard(job, buffer, buffer->memory, buffer->bytes);
        }
    }
    return status;
}

void rank_release(struct rank_job *job)
{
    for (int i = 0; i < job->buffers_count; i++) {
        struct rank_buffer *buffer = &job->buffers[i];
        if (buffer->place == RANK_DEVICE) {
            device_free(buffer->memory);
        } else if (buffer->place == RANK_HOST) {
            free(buffer->memory);
        }
        buffer->memory = NULL;
    }
}
