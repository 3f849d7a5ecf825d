// SPDX-License-Identifier: Apache-2.0
// Kernels and orchestrations that break their process: the last line says which, and of what.
#include "support/cmocka.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/kernel.h"
#include "tern/graph.h"
#include "tern/isa.h"
#include "tern/stream.h"

#define SOON TERN_TIMEOUT_DEFAULT

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

enum breaks { AT_NULL, AT_NO_ADDRESS, AT_CODE, BEHIND_UB, ON_THE_STACK, BY_ZERO, BY_ABORT, BREAKS };

static const struct {
    const char *says;
    int number;
} wanted[BREAKS] = {
    [AT_NULL] = {"no memory to use at address 0x10\n", SIGSEGV},
    [AT_NO_ADDRESS] = {"a pointer that is no address\n", SIGSEGV},
    [AT_CODE] = {"memory that may not be used so at address 0x", SIGSEGV},
    [BEHIND_UB] = {"it touched byte 196612 of its UB, which has 196608\n", SIGSEGV},
    [ON_THE_STACK] = {"its stack of 2048 KiB is used up\n", SIGSEGV},
    [BY_ZERO] = {"a division by zero or an overflow\n", SIGFPE},
    [BY_ABORT] = {"abort()\n", SIGABRT},
};

// Nothing here is known to the compiler.
static volatile uintptr_t null_and_more = 16, no_address = UINT64_C(0x5a5a5a5a5a5a5a58);
static volatile int zero = 0, depth_wanted = 1 << 20;

static int deep(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < depth_wanted ? deep(depth + 1) + frame[0] : 0;
}

static void store(uintptr_t address)
{
    *(volatile int *)address = 1; // NOLINT(performance-no-int-to-ptr): no address, on purpose
}

__attribute__((no_sanitize("undefined"))) static void break_process(enum breaks how)
{
    void *ub;
    switch (how) {
    case AT_NULL:
        store(null_and_more);
        break;
    case AT_NO_ADDRESS:
        store(no_address);
        break;
    case AT_CODE:
        store((uintptr_t)wanted);
        break; // which is constant
    case BEHIND_UB:
        if (tern_buffer_address(TERN_BUFFER_UB, 0, 32, &ub) == TERN_OK) {
            store((uintptr_t)ub + 196612);
        }
        break;
    case ON_THE_STACK:
        zero += deep(0);
        break;
    case BY_ZERO:
        zero = depth_wanted / zero;
        break;
    default:
        abort();
    }
}

static int in_a_stream(void *args)
{
    enum breaks how = *(enum breaks *)args;
    if (how < BREAKS && tern_block_index() == 1) {
        break_process(how);
    }
    return TERN_OK;
}

static void on_a_chip(int64_t *args)
{
    break_process((enum breaks)args[0]);
}

static int while_building(tern_graph *graph, void *arg)
{
    (void)graph;
    break_process(*(enum breaks *)arg);
    return TERN_OK;
}

static void run_stream(enum breaks how)
{
    tern_stream *stream;
    tern_stream_kernel kernel = {
        .kernel = in_a_stream, .name = "wild", .blocks = 3, .args = &how, .args_bytes = sizeof how};
    tern_status_ignore(tern_stream_create(&stream));
    tern_status_ignore(tern_stream_launch(stream, &kernel));
    tern_status_ignore(tern_stream_sync(stream, SOON));
}

static void run_chip(enum breaks how)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_task task = {.name = "wild", .kernel = on_a_chip, .core = TERN_CORE_AIV, .args_count = 1};
    int64_t args[] = {how};
    int id;
    task.args = args;
    tern_status_ignore(tern_chip_create(NULL, NULL, &chip));
    tern_status_ignore(tern_graph_create(&graph));
    tern_status_ignore(tern_graph_add_task(graph, &task, &id));
    tern_status_ignore(tern_chip_launch(chip, graph));
    tern_status_ignore(tern_chip_synchronize(chip));
}

// As the thread of a node's chip does.
static void run_alone(enum breaks how)
{
    struct tern__kernel called = {.comm = NULL};
    int64_t args[] = {how};
    tern__kernel_call_alone(&called, "wild", on_a_chip, args);
}

static void run_orchestration(enum breaks how)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_status_ignore(tern_chip_create(NULL, NULL, &chip));
    tern_status_ignore(tern_graph_create(&graph));
    tern_status_ignore(tern_chip_orchestrate(chip, graph, while_building, &how, NULL));
    tern_status_ignore(tern_chip_synchronize(chip));
}

// What a process says that does this, and how it ends.
static int end_of(void (*run)(enum breaks how), enum breaks how, char *said, size_t room)
{
    int ends[2], status;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        alarm(60);
        for (int i = 0; i < BREAKS; i++) { // cmocka has handlers, and so have sanitizers
            signal(wanted[i].number, SIG_DFL);
        }
        run(how);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used<room - 1; used += got> 0 ? (size_t)got : 0) {
        got = read(ends[0], said + used, room - 1 - used);
    }
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void all_ways(void (*run)(enum breaks how), const char *who)
{
    static char said[1 << 16];
    unsetenv("TERN_CHIP"); // the size of UB
    for (int how = 0; how < BREAKS; how++) {
        if (how == ON_THE_STACK && (IS_SANITIZED || run == run_alone)) {
            continue; // frames are elsewhere; or the stack is the program's
        }
        int status = end_of(run, (enum breaks)how, said, sizeof said);
        char line[200];
        snprintf(line, sizeof line, "%s%s", who, wanted[how].says);
        if (strncmp(said, line, strlen(line)) != 0 || strchr(said, '\n')[1] != '\0' ||
            !WIFSIGNALED(status) || WTERMSIG(status) != wanted[how].number) {
            fprintf(stderr, "wanted: %s\nsaid: %s\nstatus %#x\n", line, said, (unsigned)status);
            fail();
        }
    }
}

static void a_kernel_of_a_stream_is_named(void **state)
{
    (void)state;
    all_ways(run_stream, "tern: kernel 'wild', block 1 of 3: ");
}

static void a_kernel_of_a_chip_is_named(void **state)
{
    (void)state;
    all_ways(run_chip, "tern: kernel 'wild', block 0 of 1: ");
}

static void a_kernel_of_a_node_is_named(void **state)
{
    (void)state;
    all_ways(run_alone, "tern: kernel 'wild', block 0 of 1: ");
}

static void an_orchestration_is_named(void **state)
{
    (void)state;
    for (int how = 0; how < BREAKS; how++) {
        static char said[1 << 16];
        if (how == BEHIND_UB || (IS_SANITIZED && how == ON_THE_STACK)) {
            continue; // it has none
        }
        end_of(run_orchestration, (enum breaks)how, said, sizeof said);
        char line[200];
        snprintf(line, sizeof line, "tern: an orchestration: %s", wanted[how].says);
        assert_memory_equal(said, line, strlen(line));
    }
}

static void leave(int number)
{
    (void)number;
    _exit(7);
}

static void with_a_handler(enum breaks how)
{
    signal(SIGSEGV, leave);
    run_stream(how);
}

static void a_handler_of_the_program_comes_after_it(void **state)
{
    static char said[1 << 16];
    (void)state;
    int status = end_of(with_a_handler, AT_NULL, said, sizeof said);
    assert_string_equal(said,
                        "tern: kernel 'wild', block 1 of 3: no memory to use at address 0x10\n");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

// A thread of the program that runs no kernel dies as it would have.
static void beside_a_stream(enum breaks how)
{
    run_stream(BREAKS);
    break_process(how);
}

static void what_is_no_kernel_is_not_named(void **state)
{
    static char said[1 << 16];
    (void)state;
    end_of(beside_a_stream, AT_NULL, said, sizeof said);
    assert_null(strstr(said, "tern: "));
}

// A library that has run kernels and is let go of takes its handlers along.
static void load_and_let_go(enum breaks how)
{
    void *library = dlopen(TERN_BUILD_DIR "/lib/libtern.so", RTLD_NOW | RTLD_LOCAL);
    int (*create)(tern_comm *, const tern_chip_options *, tern_chip **) = NULL;
    int (*destroy)(tern_chip *) = NULL;
    void *symbols[] = {library != NULL ? dlsym(library, "tern_chip_create") : NULL,
                       library != NULL ? dlsym(library, "tern_chip_destroy") : NULL};
    struct sigaction now = {.sa_handler = SIG_IGN};
    tern_chip *chip;
    memcpy(&create, &symbols[0], sizeof create);
    memcpy(&destroy, &symbols[1], sizeof destroy);
    bool made = create != NULL && destroy != NULL && create(NULL, NULL, &chip) == TERN_OK;
    do { // until a thread of the chip runs; end_of has a deadline
        sigaction(SIGSEGV, NULL, &now);
    } while (made && (now.sa_flags & SA_SIGINFO) == 0 && sched_yield() == 0);
    bool gone = library != NULL && made && destroy(chip) == TERN_OK && dlclose(library) == 0;
    sigaction(SIGSEGV, NULL, &now);
    if (gone && now.sa_handler == SIG_DFL) {
        break_process(how);
    }
    _exit(3);
}

static void a_library_that_is_let_go_of_leaves_no_handler(void **state)
{
    static char said[1 << 16];
    (void)state;
    if (IS_SANITIZED) {
        skip(); // whose own libraries come with it
    }
    int status = end_of(load_and_let_go, AT_NULL, said, sizeof said);
    assert_string_equal(said, "");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_of_a_stream_is_named),
        cmocka_unit_test(a_kernel_of_a_chip_is_named),
        cmocka_unit_test(a_kernel_of_a_node_is_named),
        cmocka_unit_test(an_orchestration_is_named),
        cmocka_unit_test(a_library_that_is_let_go_of_leaves_no_handler),
        cmocka_unit_test(a_handler_of_the_program_comes_after_it),
        cmocka_unit_test(what_is_no_kernel_is_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
