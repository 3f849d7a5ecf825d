// SPDX-License-Identifier: Apache-2.0
// The command line of tern kernel-cc: what is for this command, and which of the compiler's steps
// gets which of the rest.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "kernel_cc.h"

void kernel_add(struct kernel_list *list, const char *item)
{
    if (list->count + 1 >= list->room) {
        list->room = 2 * list->room + 16;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        if (list->items == NULL) {
            fputs("tern kernel-cc: no memory\n", stderr);
            exit(KERNEL_EXIT_FAILED);
        }
    }
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
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
    {"-fuse-ld=", STEP_LINK, false},
    {"-shared", STEP_LINK, false},
    {"-static", STEP_LINK, false},
    {"-rdynamic", STEP_LINK, false},
};

// An option that is passed on. Returns how many arguments it took.
static int pass_on(struct kernel_job *job, char **argv, int left)
{
    struct kernel_list *lists[] = {&job->preprocess, &job->compile, &job->link};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        bool fits = options[i].exact ? strcmp(argv[0], options[i].begin) == 0
                                     : begins_with(argv[0], options[i].begin);
        if (fits) {
            kernel_add(lists[options[i].step], argv[0]);
            if (options[i].exact && left > 1) {
                kernel_add(lists[options[i].step], argv[1]);
            }
            return options[i].exact && left > 1 ? 2 : 1;
        }
    }
    kernel_add(&job->compile, argv[0]);
    return 1;
}

int kernel_parse(struct kernel_job *job, int argc, char **argv)
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
            bool source = all_sources || is_source(word);
            kernel_add(source ? &job->sources : &job->link, word);
            job->has_objects = job->has_objects || !source;
            i++;
            continue;
        }
        int taken = kernel_take_runtime(job, argv + i, argc - i);
        if (taken > 0) {
            i += taken;
            continue;
        }
        if (strcmp(word, "--isa-check") == 0) {
            job->checks = true;
            i++;
            continue;
        }
        job->compile_only = job->compile_only || strcmp(word, "-c") == 0 ||
                            strcmp(word, "-fsyntax-only") == 0; // which leaves no object
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
    bool stops = job->compile_only || job->assemble_only || job->preprocess_only;
    if (job->sources.count == 0 && (stops || !job->has_objects)) {
        fputs("tern kernel-cc: no source given: a name that ends in .cpp, .cc, .cxx, .C or .cce\n",
              stderr);
        return CLI_EXIT_USAGE;
    }
    if (stops && job->output != NULL && job->sources.count > 1) {
        fputs("tern kernel-cc: with -c, -S or -E, -o is for one source\n", stderr);
        return CLI_EXIT_USAGE;
    }
    return kernel_check_runtime(job) ? 0 : CLI_EXIT_USAGE;
}
