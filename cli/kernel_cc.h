// SPDX-License-Identifier: Apache-2.0
// The parts of tern kernel-cc:
//
//   kernel_options.c  what the command line asks for, and which step gets which option
//   kernel_runtime.c  of which chip runtime the headers are found
//   kernel_rewrite.c  what becomes of a source between preprocessing and compiling
//   kernel_cc.c       the steps, and running the compiler for other commands
#ifndef TERN_CLI_KERNEL_CC_H
#define TERN_CLI_KERNEL_CC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define KERNEL_EXIT_FAILED 1

// An argument list that grows and ends with NULL; the strings are others'.
struct kernel_list {
    const char **items;
    size_t count, room;
};

void kernel_add(struct kernel_list *list, const char *item);

struct kernel_job {
    const char *name; // the command, for its sentences: "kernel-cc"
    struct kernel_list compiler;
    struct kernel_list sources;
    struct kernel_list preprocess; // options of that step alone, such as -I and -D
    struct kernel_list compile;    // options of all steps
    struct kernel_list link;       // and those of the last one: libraries, objects
    const char *output;
    bool compile_only, preprocess_only, assemble_only, shared;
    bool has_objects; // names that are no sources
    bool has_standard, has_level, has_pic, checks;
    bool depends, has_depend_file, has_depend_target; // -MD or -MMD, -MF, -MT or -MQ
    char folder[64];                                  // for what lies between the steps
    char include[PATH_MAX], faces[PATH_MAX], library[PATH_MAX];
    char run_path[PATH_MAX + 32]; // the linker's option for it
    const char *runtime;          // NULL: none
    char runtime_folder[PATH_MAX + 64], date_folder[PATH_MAX + 64], runtimes_folder[PATH_MAX + 32];
    char runtime_macro[64];
};

// The words of CXX, which may be a command with its first arguments, else g++. `words` must outlive
// the list.
void kernel_add_compiler(struct kernel_list *list, char *words, size_t size);

// Headers and library: where this command is installed, else where it was built. False after a
// sentence.
bool kernel_find_tern(struct kernel_job *job);

// Makes the folder of a job; what ends this command from here on ends the compiler first. False
// after a sentence. The second ends this command if it was told to, when the folder is gone; from
// there on `then` takes the signals that end a command.
bool kernel_enter(struct kernel_job *job);
void kernel_leave(void (*then)(int));
// Signals that end a command; those that are ignored stay so.
void kernel_handle_signals(void (*handler)(int));

// Options that say where the headers are; and the library, with `-o to`.
void kernel_add_headers(const struct kernel_job *job, struct kernel_list *command);
void kernel_add_library(struct kernel_job *job, struct kernel_list *command, const char *to);

// Runs the compiler; its exit status, after a sentence if it is not 0. And whether a signal that
// ends a command has come.
int kernel_run(const struct kernel_job *job, const struct kernel_list *command);
bool kernel_is_told(void);

// 0, or the exit status after one sentence.
int kernel_parse(struct kernel_job *job, int argc, char **argv);

// --runtime NAME: how many arguments it is, 0 when argv[0] is something else.
int kernel_take_runtime(struct kernel_job *job, char **argv, int left);

// False after a sentence: there is no such runtime.
bool kernel_check_runtime(const struct kernel_job *job);

// Adds options of the preprocessor: the folders of the runtime, what calls its kernels, and its
// macro. Their text is kept in the job.
void kernel_add_runtime(struct kernel_job *job, struct kernel_list *command);

// The preprocessed source with each launch  K<<<blocks, nullptr, stream>>>(arguments)  as
// K % ::pto_launch("K", blocks, nullptr, stream)(arguments),  on the same lines. To be freed; NULL:
// no memory.
char *kernel_rewrite(const char *text, size_t count, size_t *result_count);

#endif
