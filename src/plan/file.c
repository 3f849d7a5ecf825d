// SPDX-License-Identifier: Apache-2.0
// Plans in files. Reading takes no more memory than the plan and one line. A saved file appears
// under its name only when it is complete: it is written beside it, then renamed.

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "plan/scan.h"
#include "plan/text.h"

#define BUFFER_BYTES (2 * TERN__PLAN_LINE_MAX) // more than a line, so that one always fits

// Feeds the complete lines of a buffer, and what cannot become a line any more; *held is what is left.
static int feed_lines(struct tern__plan_parser *parser, char *buffer, size_t *held, bool last)
{
    char *at = buffer;
    char *end = buffer + *held;
    char *stop;
    while (at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        TERN_TRY(tern__plan_parser_feed(parser, at, (size_t)(stop - at), true));
        at = stop + 1;
    }
    size_t rest = (size_t)(end - at);
    if (rest > TERN__PLAN_LINE_MAX || (last && rest > 0)) {
        TERN_TRY(tern__plan_parser_feed(parser, at, rest, false));
    }
    memmove(buffer, at, rest);
    *held = rest;
    return TERN_OK;
}

static int read_plan(FILE *file, const char *name, struct tern__plan_parser *parser, char *buffer)
{
    size_t held = 0;
    do {
        held += fread(buffer + held, 1, BUFFER_BYTES - held, file);
        if (ferror(file)) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "cannot read the plan %.400s", name);
        }
        TERN_TRY(feed_lines(parser, buffer, &held, feof(file) != 0));
    } while (!feof(file));
    return TERN_OK;
}

static int load(FILE *file, const char *name, tern_plan **plan)
{
    char *buffer = malloc(BUFFER_BYTES);
    if (buffer == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to read the plan %.400s", name);
    }
    struct tern__plan_parser *parser = NULL;
    int status = tern__plan_parser_create(name, &parser);
    if (status == TERN_OK) {
        status = read_plan(file, name, parser, buffer);
    }
    if (status == TERN_OK) {
        status = tern__plan_parser_finish(parser, plan);
    }
    tern__plan_parser_destroy(parser);
    free(buffer);
    return status;
}

int tern_plan_load(const char *path, tern_plan **plan)
{
    if (path == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_load: path and plan must not be NULL");
    }
    if (strcmp(path, "-") == 0) {
        return load(stdin, "standard input", plan);
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot open the plan %.400s", path);
    }
    int status = load(file, path, plan);
    fclose(file);
    return status;
}

// Writes to an open file and closes it.
static int write_and_close(const tern_plan *plan, FILE *file, const char *path)
{
    int status = tern__plan_write(plan, file, path);
    if (fclose(file) != 0 && status == TERN_OK) {
        status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot write the plan to %.400s", path);
    }
    return status;
}

// What is no regular file (a device, a pipe, a symbolic link) must not be replaced by one.
static int save_in_place(const tern_plan *plan, const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot open %.400s for a plan", path);
    }
    return write_and_close(plan, file, path);
}

// Creates a file beside `path` and puts its name into `name`. Not mkstemp: a new file's mode is up to
// the umask, an old one's (`mode`, or -1) is kept.
static FILE *create_beside(const char *path, int mode, char *name, size_t name_bytes)
{
    static atomic_uint saves;
    int fd;
    do {
        unsigned number = atomic_fetch_add_explicit(&saves, 1, memory_order_relaxed);
        snprintf(name, name_bytes, "%s.%ld-%u.tmp", path, (long)getpid(), number);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0) {
        return NULL;
    }
    FILE *file = NULL;
    if (mode < 0 || fchmod(fd, (mode_t)mode) == 0) {
        file = fdopen(fd, "w");
    }
    if (file == NULL) {
        int error = errno;
        close(fd);
        unlink(name);
        errno = error;
    }
    return file;
}

static int save_beside(const tern_plan *plan, const char *path, int mode)
{
    size_t name_bytes = strlen(path) + 48;
    char *name = malloc(name_bytes);
    if (name == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to save the plan %.400s", path);
    }
    FILE *file = create_beside(path, mode, name, name_bytes);
    if (file == NULL) {
        int status = tern__fail_errno(TERN_ERR_SYSTEM,
                                      "cannot create a file beside %.400s for a plan", path);
        free(name);
        return status;
    }
    int status = write_and_close(plan, file, path);
    if (status == TERN_OK && rename(name, path) != 0) {
        status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot rename a plan to %.400s", path);
    }
    if (status != TERN_OK) {
        unlink(name);
    }
    free(name);
    return status;
}

int tern_plan_save(const tern_plan *plan, const char *path)
{
    if (plan == NULL || path == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_save: plan and path must not be NULL");
    }
    if (!plan->sealed) {
        return tern__fail(TERN_ERR_STATE, "tern_plan_save: the plan must be sealed first");
    }
    if (strcmp(path, "-") == 0) {
        return tern__plan_write(plan, stdout, "standard output");
    }
    struct stat found;
    bool exists = lstat(path, &found) == 0;
    if (exists && !S_ISREG(found.st_mode)) {
        return save_in_place(plan, path);
    }
    if (exists && access(path, W_OK) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot write the plan to %.400s", path);
    }
    return save_beside(plan, path, exists ? (int)(found.st_mode & 07777) : -1);
}
