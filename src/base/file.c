// SPDX-License-Identifier: Apache-2.0
// Files: read whole or not at all, written whole or not at all.

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/public.h"

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

int tern__file_open(const char *path, const char *what, FILE **file)
{
    struct stat state;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &state) != 0) {
        int status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot open the %s %.400s", what, path);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    if (!S_ISREG(state.st_mode)) {
        close(fd);
        return tern__fail(TERN_ERR_ARG, "the %s %.400s is %s, not a file", what, path,
                          kind_of(state.st_mode));
    }
    *file = fdopen(fd, "r");
    if (*file == NULL) {
        close(fd);
        return tern__fail(TERN_ERR_MEMORY, "no memory to read the %s %.400s", what, path);
    }
    return TERN_OK;
}

// The caller frees *text, also on failure.
static int read_all(FILE *file, const char *path, const char *what, size_t bytes_max, char **text,
                    size_t *length)
{
    size_t room = 0;
    *length = 0;
    for (;;) {
        if (*length + 1 >= room) {
            room = room > 0 ? 2 * room : 4096;
            char *grown = realloc(*text, room);
            if (grown == NULL) {
                return tern__fail(TERN_ERR_MEMORY, "no memory to read the %s %.400s", what, path);
            }
            *text = grown;
        }
        size_t got = fread(*text + *length, 1, room - 1 - *length, file);
        *length += got;
        if (ferror(file)) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "cannot read the %s %.400s", what, path);
        }
        if (*length > bytes_max) {
            return tern__fail(TERN_ERR_ARG, "the %s %.400s is too long: more than %zu bytes", what,
                              path, bytes_max);
        }
        if (got == 0) {
            (*text)[*length] = '\0';
            return TERN_OK;
        }
    }
}

int tern__file_read(const char *path, const char *what, size_t bytes_max, char **text,
                    size_t *length)
{
    FILE *file;
    TERN_TRY(tern__file_open(path, what, &file));
    char *read = NULL;
    int status = read_all(file, path, what, bytes_max, &read, length);
    fclose(file);
    if (status != TERN_OK) {
        free(read);
        return status;
    }
    *text = read;
    return TERN_OK;
}

// A file that is being written: without a name in its folder, so that nothing stays of it when this
// process is killed; where file systems have no such files, beside its place; or in it.
struct draft {
    char *place; // with symbolic links followed
    char *beside;
    FILE *file;
    bool unnamed;
};

static void forget_draft(struct draft *draft)
{
    free(draft->place);
    free(draft->beside);
}

// Not mkstemp: a new file's mode is up to the umask, an old one's (`mode`, or -1) is kept. Closes
// fd when it fails.
static FILE *open_stream(int fd, int mode)
{
    FILE *file = mode < 0 || fchmod(fd, (mode_t)mode) == 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return file;
}

// The next name beside the place; false without memory.
static bool name_beside(struct draft *draft)
{
    static atomic_uint saves;
    size_t bytes = strlen(draft->place) + 48;
    draft->beside = draft->beside != NULL ? draft->beside : malloc(bytes);
    if (draft->beside != NULL) {
        unsigned number = atomic_fetch_add_explicit(&saves, 1, memory_order_relaxed);
        snprintf(draft->beside, bytes, "%s.%ld-%u.tmp", draft->place, (long)getpid(), number);
    }
    return draft->beside != NULL;
}

static FILE *create_unnamed(struct draft *draft, int mode)
{
    char *slash = strrchr(draft->place, '/');
    char *folder = slash == NULL           ? strdup(".")
                   : slash == draft->place ? strdup("/")
                                           : strndup(draft->place, (size_t)(slash - draft->place));
    bool may = folder != NULL && access("/proc/self/fd", X_OK) == 0; // where give_name finds it
    int fd = may ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    free(folder);
    draft->unnamed = fd >= 0;
    return fd >= 0 ? open_stream(fd, mode) : NULL;
}

static FILE *create_beside(struct draft *draft, int mode)
{
    int fd = -1;
    do {
        if (!name_beside(draft)) {
            return NULL;
        }
        fd = open(draft->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    FILE *file = fd >= 0 ? open_stream(fd, mode) : NULL;
    if (fd >= 0 && file == NULL) {
        int error = errno;
        unlink(draft->beside);
        errno = error;
    }
    return file;
}

// Gives a file that has none its name: its place, or one beside it where there is a file already.
static int give_name(struct draft *draft, int fd)
{
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    int failed = linkat(AT_FDCWD, self, AT_FDCWD, draft->place, AT_SYMLINK_FOLLOW);
    while (failed != 0 && errno == EEXIST) {
        if (!name_beside(draft)) {
            return -1;
        }
        failed = linkat(AT_FDCWD, self, AT_FDCWD, draft->beside, AT_SYMLINK_FOLLOW);
    }
    return failed;
}

static int open_draft(const char *path, struct draft *draft)
{
    struct stat found;
    // A link to nothing has no real path: it is written through.
    char *real = realpath(path, NULL);
    *draft = (struct draft){.place = real != NULL ? real : strdup(path)};
    if (draft->place == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to write %.400s", path);
    }
    bool exists = lstat(draft->place, &found) == 0;
    if (exists && !S_ISREG(found.st_mode)) {
        draft->file = fopen(draft->place, "we");
    } else if (!exists || access(draft->place, W_OK) == 0) {
        int mode = exists ? (int)(found.st_mode & 07777) : -1;
        draft->file = create_unnamed(draft, mode);
        draft->file = draft->unnamed ? draft->file : create_beside(draft, mode);
    }
    if (draft->file == NULL) {
        int status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot write %.400s", path);
        forget_draft(draft);
        return status;
    }
    return TERN_OK;
}

// Ends the draft: in its place when status is TERN_OK, else it is thrown away. Returns status, or
// why it could not be put in its place.
static int close_draft(const char *path, struct draft *draft, int status)
{
    bool broken = ferror(draft->file) != 0;
    int error = errno; // of the write that failed, if it was the last
    int unnamed = draft->unnamed ? fcntl(fileno(draft->file), F_DUPFD_CLOEXEC, 0) : -1;
    bool kept = !draft->unnamed || unnamed >= 0;
    bool closed = fclose(draft->file) == 0 && kept;
    if (status >= 0 && (broken || !closed)) {
        errno = broken ? error : errno;
        status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot write %.400s", path);
    }
    if (status >= 0 && draft->unnamed && give_name(draft, unnamed) != 0) {
        status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot write %.400s", path);
    }
    if (unnamed >= 0) {
        close(unnamed);
    }
    if (status >= 0 && draft->beside != NULL && rename(draft->beside, draft->place) != 0) {
        status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot write %.400s", path);
    }
    if (status < 0 && draft->beside != NULL) {
        unlink(draft->beside);
    }
    forget_draft(draft);
    return status;
}

static int file_save(const char *path, tern_file_writer *write, void *arg)
{
    if (path == NULL || write == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_file_save: path and write must not be NULL");
    }
    struct draft draft;
    TERN_TRY(open_draft(path, &draft));
    return close_draft(path, &draft, write(draft.file, arg));
}

int tern_file_save(const char *path, tern_file_writer *write, void *arg)
{
    return TERN__CALL(file_save(path, write, arg));
}

int tern_file_probe(const char *path)
{
    if (path == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_file_probe: path must not be NULL");
    }
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        errno = S_ISDIR(found.st_mode) ? EISDIR : 0;
        return errno == 0 && access(path, W_OK) == 0
                   ? TERN_OK
                   : tern__fail_errno(TERN_ERR_SYSTEM, "cannot write %.400s", path);
    }
    struct draft draft;
    TERN_TRY(open_draft(path, &draft));
    int status = close_draft(path, &draft, TERN_ERR_STATE);
    return status == TERN_ERR_STATE ? TERN_OK : status;
}
