// SPDX-License-Identifier: Apache-2.0
// tern kernel-cc: compiles kernels for the PTO ISA, and the hosts that launch them, with an
// ordinary C++ compiler. A source is preprocessed, the one construct that is not C++ is rewritten,
// and what results is compiled. The preprocessor's line markers stay, so messages name the user's
// files and lines, and launches from headers and macros are found as well.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "kernel_cc.h"
#include "place.h"

extern char **environ;

void kernel_add_compiler(struct kernel_list *list, char *words, size_t size)
{
    const char *compiler = getenv("CXX");
    snprintf(words, size, "%s", compiler != NULL ? compiler : "");
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        kernel_add(list, word);
    }
    if (list->count == 0) {
        kernel_add(list, "g++");
    }
}

static void add_all(struct kernel_list *list, const struct kernel_list *more)
{
    for (size_t i = 0; i < more->count; i++) {
        kernel_add(list, more->items[i]);
    }
}

static bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

bool kernel_find_tern(struct kernel_job *job)
{
    char here[PATH_MAX - 256];
    if (!cli_find_prefix(here, sizeof here)) {
        return false;
    }
    char header[PATH_MAX + 32];
    snprintf(job->include, sizeof job->include, "%s/%s", here, TERN_INCLUDEDIR);
    snprintf(job->faces, sizeof job->faces, "%s/%s/tern-faces", here, TERN_INCLUDEDIR);
    snprintf(job->library, sizeof job->library, "%s/%s", here, TERN_LIBDIR);
    snprintf(header, sizeof header, "%s/pto/pto-inst.hpp", job->faces);
    if (!exists(header)) {
        snprintf(job->include, sizeof job->include, "%s", TERN_BUILD_INCLUDE);
        snprintf(job->faces, sizeof job->faces, "%s/faces", TERN_BUILD_INCLUDE);
        snprintf(job->library, sizeof job->library, "%s/lib", here);
        snprintf(header, sizeof header, "%s/pto/pto-inst.hpp", job->faces);
    }
    if (!exists(header)) {
        fprintf(stderr,
                "tern %s: there are no headers in %s; install tern, or run it from its build\n",
                job->name, job->faces);
        return false;
    }
    return true;
}

// The compiler that runs, 0: none. The signal that has come, 0: none.
static volatile sig_atomic_t child;
static volatile sig_atomic_t told;

// What ends this command ends the compiler; this command then cleans up.
static void pass_signal(int number)
{
    told = number;
    if (child != 0) {
        kill(-(pid_t)child, number);
    }
}

void kernel_add_headers(const struct kernel_job *job, struct kernel_list *command)
{
    kernel_add(command, "-isystem");
    kernel_add(command, job->include);
    kernel_add(command, "-isystem");
    kernel_add(command, job->faces);
}

void kernel_add_library(struct kernel_job *job, struct kernel_list *command, const char *to)
{
    snprintf(job->run_path, sizeof job->run_path, "-Wl,-rpath,%s", job->library);
    kernel_add(command, "-L");
    kernel_add(command, job->library);
    kernel_add(command, job->run_path);
    kernel_add(command, "-ltern");
    kernel_add(command, "-o");
    kernel_add(command, to);
}

int kernel_run(const struct kernel_job *job, const struct kernel_list *command)
{
    pid_t pid;
    if (told != 0) {
        return KERNEL_EXIT_FAILED;
    }
    // A group of its own: a compiler that is ended leaves its parts running.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error = posix_spawnp(&pid, command->items[0], NULL, &attributes,
                             (char *const *)(uintptr_t)command->items, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        fprintf(stderr, "tern %s: cannot run '%s': %s\n", job->name, command->items[0],
                strerror(error));
        return KERNEL_EXIT_FAILED;
    }
    int status = 0;
    child = pid;
    if (told != 0) { // when there was no child yet
        kill(-pid, told);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    if (WIFSIGNALED(status) && told == 0) {
        fprintf(stderr, "tern %s: '%s' was killed by signal %d (%s)\n", job->name,
                command->items[0], WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        fprintf(stderr, "tern %s: '%s' ended with status %d\n", job->name, command->items[0],
                WEXITSTATUS(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : KERNEL_EXIT_FAILED;
}

bool kernel_is_told(void)
{
    return told != 0;
}

// Reads a file that this command made, rewrites it, and writes it again.
static int rewrite_file(const char *from, const char *to)
{
    int status = KERNEL_EXIT_FAILED;
    char *rewritten = NULL;
    FILE *file = fopen(from, "r");
    struct stat about;
    char *text = NULL;
    if (file != NULL && fstat(fileno(file), &about) == 0) {
        size_t count = (size_t)about.st_size;
        text = malloc(count + 1);
        if (text != NULL && fread(text, 1, count, file) == count) {
            rewritten = kernel_rewrite(text, count, &count);
        }
        fclose(file);
        file = rewritten == NULL ? NULL : strcmp(to, "-") == 0 ? stdout : fopen(to, "w");
        if (file != NULL && fwrite(rewritten, 1, count, file) == count) {
            status = 0;
        }
        if (file != NULL && (file == stdout ? fflush(file) : fclose(file)) != 0) {
            status = KERNEL_EXIT_FAILED;
        }
    }
    if (status != 0 && told == 0) {
        fprintf(stderr, "tern kernel-cc: cannot rewrite '%s' to '%s': %s\n", from, to,
                strerror(errno));
    }
    free(text);
    free(rewritten);
    return status;
}

// The last part of a source's name, with another end.
static void name_result(const char *source, const char *end, char *name, size_t size)
{
    const char *slash = strrchr(source, '/');
    const char *last = slash != NULL ? slash + 1 : source;
    const char *dot = strrchr(last, '.');
    snprintf(name, size, "%.*s%s", dot != NULL ? (int)(dot - last) : (int)strlen(last), last, end);
}

// Where dependencies go, and what depends: the compiler would go by the names of this step.
static void name_dependencies(const struct kernel_job *job, const char *source, char *file,
                              char *target, size_t size)
{
    name_result(source, ".o", target, size);
    if (job->compile_only && job->output != NULL) {
        snprintf(target, size, "%s", job->output);
    }
    const char *slash = strrchr(target, '/');
    const char *dot = strrchr(slash != NULL ? slash : target, '.');
    int length = (int)(dot != NULL ? (size_t)(dot - target) : strlen(target));
    snprintf(file, size, "%.*s.d", length, target);
}

static int preprocess(struct kernel_job *job, const char *source, const char *to)
{
    struct kernel_list command = {0};
    char file[PATH_MAX];
    char target[PATH_MAX];
    add_all(&command, &job->compiler);
    kernel_add(&command, "-E");
    if (!job->has_standard) {
        kernel_add(&command, "-std=c++17");
    }
    add_all(&command, &job->compile);
    add_all(&command, &job->preprocess);
    if (job->depends) {
        name_dependencies(job, source, file, target, sizeof file);
        if (!job->has_depend_file) {
            kernel_add(&command, "-MF");
            kernel_add(&command, file);
        }
        if (!job->has_depend_target) {
            kernel_add(&command, "-MT");
            kernel_add(&command, target);
        }
    }
    kernel_add_headers(job, &command);
    kernel_add_runtime(job, &command);
    kernel_add(&command, "-include");
    kernel_add(&command, job->checks ? "pto/tern/checked.hpp" : "pto/tern/launch.hpp");
    kernel_add(&command, "-x");
    kernel_add(&command, "c++");
    kernel_add(&command, source);
    kernel_add(&command, "-o");
    kernel_add(&command, to);
    int status = kernel_run(job, &command);
    free(command.items);
    return status;
}

// Whether the compiler makes symbols that a process has once, for which a shared object is never
// unloaded: a host loads an orchestration and its kernels any number of times.
static bool knows_unique(const struct kernel_job *job)
{
    for (size_t i = 0; i < job->compiler.count; i++) {
        if (strstr(job->compiler.items[i], "clang") != NULL) {
            return false;
        }
    }
    return true;
}

static int compile(const struct kernel_job *job, const char *source, const char *to)
{
    struct kernel_list command = {0};
    add_all(&command, &job->compiler);
    kernel_add(&command, job->assemble_only ? "-S" : "-c");
    if (!job->has_standard) {
        kernel_add(&command, "-std=c++17");
    }
    if (!job->has_level) {
        kernel_add(&command, "-O2");
    }
    if (job->checks) {
        kernel_add(&command, "-g");
    }
    if (job->shared && !job->has_pic) {
        kernel_add(&command, "-fPIC");
    }
    if (job->runtime != NULL && knows_unique(job)) {
        kernel_add(&command, "-fno-gnu-unique");
    }
    if (job->runtime != NULL) {
        kernel_add(&command, "-Wno-attributes"); // of a kernel_entry that is always_inline
    }
    kernel_add(&command, "-pthread");
    add_all(&command, &job->compile);
    kernel_add(&command, "-x");
    kernel_add(&command, "c++-cpp-output");
    kernel_add(&command, source);
    kernel_add(&command, "-o");
    kernel_add(&command, to);
    int status = kernel_run(job, &command);
    free(command.items);
    return status;
}

static int build_source(struct kernel_job *job, size_t index, char *object, size_t size)
{
    char before[96];
    char after[96];
    char name[PATH_MAX];
    snprintf(before, sizeof before, "%s/%zu.ii", job->folder, index);
    snprintf(after, sizeof after, "%s/%zu.launch.ii", job->folder, index);
    int status = preprocess(job, job->sources.items[index], before);
    if (status != 0) {
        return status;
    }
    if (job->preprocess_only) {
        return rewrite_file(before, job->output != NULL ? job->output : "-");
    }
    status = rewrite_file(before, after);
    if (status != 0) {
        return status;
    }
    if (!job->compile_only && !job->assemble_only) {
        snprintf(object, size, "%s/%zu.o", job->folder, index);
        return compile(job, after, object);
    }
    name_result(job->sources.items[index], job->assemble_only ? ".s" : ".o", name, sizeof name);
    return compile(job, after, job->output != NULL ? job->output : name);
}

static int link_all(struct kernel_job *job, char (*objects)[96])
{
    struct kernel_list command = {0};
    add_all(&command, &job->compiler);
    add_all(&command, &job->compile);
    for (size_t i = 0; i < job->sources.count; i++) {
        kernel_add(&command, objects[i]);
    }
    add_all(&command, &job->link);
    kernel_add(&command, "-pthread");
    kernel_add_library(job, &command, job->output != NULL ? job->output : "a.out");
    int status = kernel_run(job, &command);
    free(command.items);
    return status;
}

static int build(struct kernel_job *job)
{
    char(*objects)[96] = calloc(job->sources.count + 1, sizeof *objects);
    int status = objects != NULL ? 0 : KERNEL_EXIT_FAILED;
    for (size_t i = 0; i < job->sources.count && status == 0; i++) {
        status = build_source(job, i, objects[i], sizeof objects[i]);
    }
    if (status == 0 && !job->compile_only && !job->assemble_only && !job->preprocess_only) {
        status = link_all(job, objects);
    }
    free(objects);
    return status;
}

static void remove_folder(const struct kernel_job *job)
{
    static const char *const ends[] = {"ii", "launch.ii", "o"};
    char path[96];
    for (size_t i = 0; i < job->sources.count; i++) {
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
            snprintf(path, sizeof path, "%s/%zu.%s", job->folder, i, ends[k]);
            unlink(path);
        }
    }
    rmdir(job->folder);
}

void kernel_handle_signals(void (*handler)(int))
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signal(signals[i], handler) == SIG_IGN) { // as under nohup
            signal(signals[i], SIG_IGN);
        }
    }
}

bool kernel_enter(struct kernel_job *job)
{
    const char *temporary = getenv("TMPDIR");
    int used = snprintf(job->folder, sizeof job->folder, "%s/tern-kernel-XXXXXX",
                        temporary != NULL && strlen(temporary) < 32 ? temporary : "/tmp");
    if (used < 0 || mkdtemp(job->folder) == NULL) {
        fprintf(stderr, "tern %s: cannot make the folder %s: %s\n", job->name, job->folder,
                strerror(errno));
        return false;
    }
    kernel_handle_signals(pass_signal);
    return true;
}

void kernel_leave(void (*then)(int))
{
    kernel_handle_signals(then);
    if (told != 0) { // ends as who has sent it expects
        raise(told);
    }
}

static int make_and_build(struct kernel_job *job)
{
    if (!kernel_enter(job)) {
        return KERNEL_EXIT_FAILED;
    }
    int status = build(job);
    remove_folder(job);
    kernel_leave(SIG_DFL);
    return status;
}

static int print_help(void)
{
    puts(
        "usage: tern kernel-cc [COMPILER OPTIONS] SRC.cpp... [-o FILE]\n"
        "\n"
        "Compiles kernels for the PTO ISA and the programs that launch them, with g++ or what CXX\n"
        "in the environment names. Launches  K<<<blocks, nullptr, stream>>>(arguments)  are\n"
        "rewritten; messages name the files and lines of the sources. Headers (pto/, acl/, hccl/,\n"
        "comm.h, tern/) are found, and libtern is linked; objects alone are only linked.\n"
        "\n"
        "  -shared      a shared object of kernels instead of a program\n"
        "  -c, -S, -E   no link; assembly; the rewritten source\n"
        "  -o FILE      the result (a.out; with -c, SRC.o)\n"
        "  --runtime NAME  with the headers of a chip runtime: host_build_graph,\n"
        "               aicpu_build_graph, tensormap_and_ringbuffer, or april/ and one of these,\n"
        "               or august/ and the first or the last of these\n"
        "\n"
        "All other options go to the compiler. Without -std=, -std=c++17; without -O, -O2.");
    return 0;
}

int cli_kernel_cc(int argc, char **argv)
{
    struct kernel_job job = {.name = "kernel-cc"};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return print_help();
    }
    char words[1024];
    kernel_add_compiler(&job.compiler, words, sizeof words);
    int status = kernel_parse(&job, argc, argv);
    if (status == 0) {
        status = kernel_find_tern(&job) ? make_and_build(&job) : KERNEL_EXIT_FAILED;
    }
    free(job.compiler.items);
    free(job.sources.items);
    free(job.preprocess.items);
    free(job.compile.items);
    free(job.link.items);
    return status;
}
