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

#define EXIT_FAILED 1

extern char **environ;

// An argument list that grows; the strings are others'.
struct list {
    const char **items;
    size_t count, room;
};

static void add(struct list *list, const char *item)
{
    if (list->count + 1 >= list->room) {
        list->room = 2 * list->room + 16;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        if (list->items == NULL) {
            fputs("tern kernel-cc: no memory\n", stderr);
            exit(EXIT_FAILED);
        }
    }
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

static void add_all(struct list *list, const struct list *more)
{
    for (size_t i = 0; i < more->count; i++) {
        add(list, more->items[i]);
    }
}

struct job {
    struct list compiler;
    struct list sources;
    struct list preprocess; // options of that step alone, such as -I and -D
    struct list compile;    // options of all steps
    struct list link;       // and those of the last one: libraries, objects
    const char *output;
    bool compile_only, preprocess_only, assemble_only, shared;
    bool has_standard, has_level, has_pic, checks;
    bool depends, has_depend_file, has_depend_target; // -MD or -MMD, -MF, -MT or -MQ
    char folder[64];                                  // for what lies between the steps
    char include[PATH_MAX], faces[PATH_MAX], library[PATH_MAX];
};

static bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

// Headers and library: where this command is installed, else where it was built.
static bool find_tern(struct job *job)
{
    char here[PATH_MAX - 256];
    ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    if (length <= 0) {
        return false;
    }
    here[length] = '\0';
    for (int up = 0; up < 2; up++) { // …/bin/tern
        char *slash = strrchr(here, '/');
        *(slash != NULL ? slash : here) = '\0';
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
                "tern kernel-cc: there are no headers in %s; install tern, or run it from its "
                "build\n",
                job->faces);
        return false;
    }
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t least = strlen(end);
    return length > least && strcmp(text + length - least, end) == 0;
}

static bool is_source(const char *name)
{
    static const char *const ends[] = {".cpp", ".cc", ".cxx", ".C", ".cce"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends_with(name, ends[i])) {
            return true;
        }
    }
    return false;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

enum step { STEP_PREPROCESS, STEP_COMPILE, STEP_LINK };

// Options by how they begin: which step they are for, and whether the value may be the next
// argument.
static const struct {
    const char *begin;
    enum step step;
    bool exact; // the whole word, and the value follows
} options[] = {
    {"-include", STEP_PREPROCESS, true},
    {"-imacros", STEP_PREPROCESS, true},
    {"-isystem", STEP_PREPROCESS, true},
    {"-iquote", STEP_PREPROCESS, true},
    {"-idirafter", STEP_PREPROCESS, true},
    {"-MF", STEP_PREPROCESS, true},
    {"-MT", STEP_PREPROCESS, true},
    {"-MQ", STEP_PREPROCESS, true},
    {"-I", STEP_PREPROCESS, true},
    {"-D", STEP_PREPROCESS, true},
    {"-U", STEP_PREPROCESS, true},
    {"-M", STEP_PREPROCESS, false},
    {"-Wp,", STEP_PREPROCESS, false},
    {"-isystem", STEP_PREPROCESS, false},
    {"-iquote", STEP_PREPROCESS, false},
    {"-I", STEP_PREPROCESS, false},
    {"-D", STEP_PREPROCESS, false},
    {"-U", STEP_PREPROCESS, false},
    {"--param", STEP_COMPILE, true},
    {"-isysroot", STEP_COMPILE, true},
    {"--sysroot", STEP_COMPILE, true},
    {"-target", STEP_COMPILE, true},
    {"-Xpreprocessor", STEP_PREPROCESS, true},
    {"-Xassembler", STEP_COMPILE, true},
    {"-B", STEP_COMPILE, true},
    {"-T", STEP_LINK, true},
    {"-u", STEP_LINK, true},
    {"-z", STEP_LINK, true},
    {"-e", STEP_LINK, true},
    {"-L", STEP_LINK, true},
    {"-l", STEP_LINK, true},
    {"-Xlinker", STEP_LINK, true},
    {"-L", STEP_LINK, false},
    {"-l", STEP_LINK, false},
    {"-Wl,", STEP_LINK, false},
    {"-shared", STEP_LINK, false},
    {"-static", STEP_LINK, false},
    {"-rdynamic", STEP_LINK, false},
};

// An option that is passed on. Returns how many arguments it took.
static int pass_on(struct job *job, char **argv, int left)
{
    struct list *lists[] = {&job->preprocess, &job->compile, &job->link};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        bool fits = options[i].exact ? strcmp(argv[0], options[i].begin) == 0
                                     : begins_with(argv[0], options[i].begin);
        if (fits) {
            add(lists[options[i].step], argv[0]);
            if (options[i].exact && left > 1) {
                add(lists[options[i].step], argv[1]);
            }
            return options[i].exact && left > 1 ? 2 : 1;
        }
    }
    add(&job->compile, argv[0]);
    return 1;
}

static int print_help(void)
{
    puts(
        "usage: tern kernel-cc [COMPILER OPTIONS] SRC.cpp... [-o FILE]\n"
        "\n"
        "Compiles kernels for the PTO ISA and the programs that launch them, with g++ or what CXX\n"
        "in the environment names. Launches  K<<<blocks, nullptr, stream>>>(arguments)  are\n"
        "rewritten; messages name the files and lines of the sources. Headers (pto/, acl/, hccl/,\n"
        "comm.h, tern/) are found, and libtern is linked.\n"
        "\n"
        "  -shared      a shared object of kernels instead of a program\n"
        "  -c, -S, -E   no link; assembly; the rewritten source\n"
        "  -o FILE      the result (a.out; with -c, SRC.o)\n"
        "\n"
        "All other options go to the compiler. Without -std=, -std=c++17; without -O, -O2.");
    return 0;
}

// 0, or the exit status after one sentence.
static int parse(struct job *job, int argc, char **argv)
{
    bool all_sources = false;
    for (int i = 1; i < argc;) {
        const char *word = argv[i];
        if (strcmp(word, "-o") == 0 && i + 1 < argc) {
            job->output = argv[i + 1];
            i += 2;
            continue;
        }
        if (strcmp(word, "-o") == 0) {
            fputs("tern kernel-cc: -o needs the name of a file\n", stderr);
            return CLI_EXIT_USAGE;
        }
        if (begins_with(word, "-o")) {
            job->output = word + 2;
            i++;
            continue;
        }
        if (word[0] != '-') {
            add(all_sources || is_source(word) ? &job->sources : &job->link, word);
            i++;
            continue;
        }
        if (strcmp(word, "--isa-check") == 0) {
            job->checks = true;
            i++;
            continue;
        }
        job->compile_only = job->compile_only || strcmp(word, "-c") == 0;
        job->assemble_only = job->assemble_only || strcmp(word, "-S") == 0;
        job->preprocess_only = job->preprocess_only || strcmp(word, "-E") == 0;
        job->shared = job->shared || strcmp(word, "-shared") == 0;
        job->has_standard = job->has_standard || begins_with(word, "-std=");
        job->has_level = job->has_level || begins_with(word, "-O");
        job->has_pic = job->has_pic || strcmp(word, "-fPIC") == 0 || strcmp(word, "-fpic") == 0;
        job->depends = job->depends || strcmp(word, "-MD") == 0 || strcmp(word, "-MMD") == 0;
        job->has_depend_file = job->has_depend_file || begins_with(word, "-MF");
        job->has_depend_target =
            job->has_depend_target || begins_with(word, "-MT") || begins_with(word, "-MQ");
        if (begins_with(word, "-x")) { // what follows are sources: of C++, whatever it says
            const char *language = word[2] != '\0' || i + 1 == argc ? word + 2 : argv[i + 1];
            all_sources = language[0] != '\0' && strcmp(language, "none") != 0;
            i += word[2] != '\0' ? 1 : 2;
            continue;
        }
        bool step = strcmp(word, "-c") == 0 || strcmp(word, "-S") == 0 || strcmp(word, "-E") == 0;
        i += step ? 1 : pass_on(job, argv + i, argc - i);
    }
    if (job->sources.count == 0) {
        fputs("tern kernel-cc: no source given: a name that ends in .cpp, .cc, .cxx or .cce\n",
              stderr);
        return CLI_EXIT_USAGE;
    }
    bool stops = job->compile_only || job->assemble_only || job->preprocess_only;
    if (stops && job->output != NULL && job->sources.count > 1) {
        fputs("tern kernel-cc: with -c, -S or -E, -o is for one source\n", stderr);
        return CLI_EXIT_USAGE;
    }
    return 0;
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

// Runs the compiler; its exit status.
static int run(const struct list *command)
{
    pid_t pid;
    if (told != 0) {
        return EXIT_FAILED;
    }
    // A group of its own: a compiler that is ended leaves its parts running.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error = posix_spawnp(&pid, command->items[0], NULL, &attributes,
                             (char *const *)(uintptr_t)command->items, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        fprintf(stderr, "tern kernel-cc: cannot run '%s': %s\n", command->items[0],
                strerror(error));
        return EXIT_FAILED;
    }
    int status = 0;
    child = pid;
    if (told != 0) { // when there was no child yet
        kill(-pid, told);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

// Reads a file that this command made, rewrites it, and writes it again.
static int rewrite_file(const char *from, const char *to)
{
    int status = EXIT_FAILED;
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
            status = EXIT_FAILED;
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
static void name_dependencies(const struct job *job, const char *source, char *file, char *target,
                              size_t size)
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

static int preprocess(const struct job *job, const char *source, const char *to)
{
    struct list command = {0};
    char file[PATH_MAX];
    char target[PATH_MAX];
    add_all(&command, &job->compiler);
    add(&command, "-E");
    if (!job->has_standard) {
        add(&command, "-std=c++17");
    }
    add_all(&command, &job->compile);
    add_all(&command, &job->preprocess);
    if (job->depends) {
        name_dependencies(job, source, file, target, sizeof file);
        if (!job->has_depend_file) {
            add(&command, "-MF");
            add(&command, file);
        }
        if (!job->has_depend_target) {
            add(&command, "-MT");
            add(&command, target);
        }
    }
    add(&command, "-isystem");
    add(&command, job->include);
    add(&command, "-isystem");
    add(&command, job->faces);
    add(&command, "-include");
    add(&command, job->checks ? "pto/tern/checked.hpp" : "pto/tern/launch.hpp");
    add(&command, "-x");
    add(&command, "c++");
    add(&command, source);
    add(&command, "-o");
    add(&command, to);
    int status = run(&command);
    free(command.items);
    return status;
}

static int compile(const struct job *job, const char *source, const char *to)
{
    struct list command = {0};
    add_all(&command, &job->compiler);
    add(&command, job->assemble_only ? "-S" : "-c");
    if (!job->has_standard) {
        add(&command, "-std=c++17");
    }
    if (!job->has_level) {
        add(&command, "-O2");
    }
    if (job->checks) {
        add(&command, "-g");
    }
    if (job->shared && !job->has_pic) {
        add(&command, "-fPIC");
    }
    add(&command, "-pthread");
    add_all(&command, &job->compile);
    add(&command, "-x");
    add(&command, "c++-cpp-output");
    add(&command, source);
    add(&command, "-o");
    add(&command, to);
    int status = run(&command);
    free(command.items);
    return status;
}

static int build_source(const struct job *job, size_t index, char *object, size_t size)
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

static int link_all(const struct job *job, char (*objects)[96])
{
    char path[PATH_MAX + 32];
    struct list command = {0};
    add_all(&command, &job->compiler);
    add_all(&command, &job->compile);
    for (size_t i = 0; i < job->sources.count; i++) {
        add(&command, objects[i]);
    }
    add_all(&command, &job->link);
    add(&command, "-pthread");
    add(&command, "-L");
    add(&command, job->library);
    snprintf(path, sizeof path, "-Wl,-rpath,%s", job->library);
    add(&command, path);
    add(&command, "-ltern");
    add(&command, "-o");
    add(&command, job->output != NULL ? job->output : "a.out");
    int status = run(&command);
    free(command.items);
    return status;
}

static int build(const struct job *job)
{
    char(*objects)[96] = calloc(job->sources.count, sizeof *objects);
    int status = objects != NULL ? 0 : EXIT_FAILED;
    for (size_t i = 0; i < job->sources.count && status == 0; i++) {
        status = build_source(job, i, objects[i], sizeof objects[i]);
    }
    if (status == 0 && !job->compile_only && !job->assemble_only && !job->preprocess_only) {
        status = link_all(job, objects);
    }
    free(objects);
    return status;
}

static void remove_folder(const struct job *job)
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

static int make_and_build(struct job *job)
{
    const char *temporary = getenv("TMPDIR");
    int used = snprintf(job->folder, sizeof job->folder, "%s/tern-kernel-XXXXXX",
                        temporary != NULL && strlen(temporary) < 32 ? temporary : "/tmp");
    if (used < 0 || mkdtemp(job->folder) == NULL) {
        fprintf(stderr, "tern kernel-cc: cannot make the folder %s: %s\n", job->folder,
                strerror(errno));
        return EXIT_FAILED;
    }
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signal(signals[i], pass_signal) == SIG_IGN) { // as under nohup
            signal(signals[i], SIG_IGN);
        }
    }
    int status = build(job);
    remove_folder(job);
    if (told != 0) { // ends as who has sent it expects
        signal(told, SIG_DFL);
        raise(told);
    }
    return status;
}

int cli_kernel_cc(int argc, char **argv)
{
    struct job job = {0};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return print_help();
    }
    char words[1024]; // CXX may be a command with its first arguments
    const char *compiler = getenv("CXX");
    snprintf(words, sizeof words, "%s", compiler != NULL ? compiler : "");
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        add(&job.compiler, word);
    }
    if (job.compiler.count == 0) {
        add(&job.compiler, "g++");
    }
    int status = parse(&job, argc, argv);
    if (status == 0) {
        status = find_tern(&job) ? make_and_build(&job) : EXIT_FAILED;
    }
    free(job.compiler.items);
    free(job.sources.items);
    free(job.preprocess.items);
    free(job.compile.items);
    free(job.link.items);
    return status;
}
