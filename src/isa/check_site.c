// SPDX-License-Identifier: Apache-2.0
// Where in the kernel an instruction was called: the innermost frame of the stack that is neither
// tern's nor in a header of the faces. Frames become lines by addr2line, which runs once for each
// stack, but for stacks that go through several objects. Only used in checking mode.

#include "isa/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/order.h"

enum { FRAMES = 16, SITES = 4096, TEXT_BYTES = 200, ADDRESS_BYTES = 24, LINE_BYTES = 4096 };

extern char **environ;

static struct site {
    uint64_t stack; // its digest
    char text[TEXT_BYTES];
} sites[SITES];
static uint32_t sites_count = 1; // number 0 is none
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The object that an address is in: its file, and the address as that file has it.
struct object {
    uintptr_t address;
    const char *name;
    uintptr_t inside;
    uintptr_t base;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object *object = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && object->address - begin < header->p_memsz) {
            object->name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
            object->inside = object->address - info->dlpi_addr;
            object->base = info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

static bool is_ours(const char *file)
{
    static const char *const parts[] = {"/faces/pto/",  "/tern-faces/pto/", "/src/isa/",
                                        "/src/stream/", "/src/plan/",       "/src/coll/"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(file, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

// Reads what addr2line says, frame after frame, inlined ones too; the first line that is not ours.
static bool read_lines(FILE *lines, char *text)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, lines) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *end = strstr(line, " (discriminator");
        if (end != NULL) {
            *end = '\0';
        }
        if (line[0] != '?' && strstr(line, ":?") == NULL && strstr(line, ":0") == NULL &&
            !is_ours(line)) {
            const char *slash = strrchr(line, '/');
            snprintf(text, TEXT_BYTES, "%s", slash != NULL ? slash + 1 : line);
            return true;
        }
    }
    return false;
}

// The file of an object, for another process.
static void name_file(const struct object *object, char *path, size_t size)
{
    static const char own[] = "/proc/self";
    ssize_t length = readlink(object->name, path, size - 1);
    if (strcmp(object->name, "/proc/self/exe") == 0 && length > 0) {
        path[length] = '\0';
    } else if (strncmp(object->name, own, strlen(own)) == 0) { // memory of this process
        snprintf(path, size, "/proc/%ld%s", (long)getpid(), object->name + strlen(own));
    } else {
        snprintf(path, size, "%s", object->name);
    }
}

// The line of the first of these frames, all of one object, that has one.
static bool resolve(const struct object *object, void *const *frames, int count, char *text)
{
    char addresses[FRAMES][ADDRESS_BYTES];
    char path[4096];
    char *arguments[FRAMES + 5] = {(char[]){"addr2line"}, (char[]){"-i"}, (char[]){"-e"}, path};
    int ends[2];
    name_file(object, path, sizeof path);
    for (int i = 0; i < count; i++) { // the calls themselves
        snprintf(addresses[i], sizeof addresses[i], "%#zx",
                 (size_t)((uintptr_t)frames[i] - object->base) - 1);
        arguments[4 + i] = addresses[i];
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    bool runs = posix_spawnp(&pid, "addr2line", &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    bool found = runs && lines != NULL && read_lines(lines, text);
    if (lines != NULL) {
        fclose(lines);
    } else {
        close(ends[0]);
    }
    if (runs) {
        waitpid(pid, NULL, 0);
    }
    return found;
}

// Without lines: the object and the function, if it has a name.
static void describe(void *frame, const struct object *object, char *text)
{
    Dl_info info;
    bool program = strcmp(object->name, "/proc/self/exe") == 0;
    const char *name = program ? program_invocation_short_name : object->name;
    const char *slash = strrchr(name, '/');
    bool named = dladdr(frame, &info) != 0 && info.dli_sname != NULL;
    snprintf(text, TEXT_BYTES, "%s+%#zx%s%s (compile with -g for the line)",
             slash != NULL ? slash + 1 : name, (size_t)object->inside, named ? " in " : "",
             named ? info.dli_sname : "");
}

// The C library may have lines, too; they are those of who starts threads.
static bool is_library(const struct object *object, const struct object *own)
{
    return (object->base == own->base && strstr(object->name, "libtern") != NULL) ||
           strstr(object->name, "/libc.so") != NULL;
}

static void make_text(void *const *frames, int count, char *text)
{
    struct object own = {.address = (uintptr_t)make_text};
    dl_iterate_phdr(find_object, &own);
    int first = -1;
    for (int i = 0, next; i < count; i = next) {
        struct object object = {.address = (uintptr_t)frames[i]};
        next = i + 1;
        if (dl_iterate_phdr(find_object, &object) == 0 || is_library(&object, &own)) {
            continue;
        }
        for (struct object other = object; next < count; next++) {
            other.address = (uintptr_t)frames[next];
            if (dl_iterate_phdr(find_object, &other) == 0 || other.base != object.base) {
                break;
            }
        }
        if (resolve(&object, &frames[i], next - i, text)) {
            return;
        }
        first = first < 0 ? i : first;
    }
    struct object object = {.address = first < 0 ? 0 : (uintptr_t)frames[first]};
    if (first >= 0 && dl_iterate_phdr(find_object, &object) != 0) {
        describe(frames[first], &object, text);
    } else {
        snprintf(text, TEXT_BYTES, "an unknown place");
    }
}

uint32_t tern__watch_site(void)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    uint64_t stack = tern__digest_add(TERN__DIGEST_EMPTY, frames, (size_t)count * sizeof *frames);
    pthread_mutex_lock(&lock);
    uint32_t site = 1;
    while (site < sites_count && sites[site].stack != stack) {
        site++;
    }
    if (site == sites_count && site < SITES) {
        make_text(frames, count, sites[site].text);
        sites[site].stack = stack;
        sites_count++;
    }
    pthread_mutex_unlock(&lock);
    return site < SITES ? site : 0;
}

const char *tern__watch_site_text(uint32_t site)
{
    return site == 0 || site >= SITES ? "an unknown place" : sites[site].text;
}
