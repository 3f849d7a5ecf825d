// SPDX-License-Identifier: Apache-2.0
// Recording in a child process: the executor is somebody's program, and may do anything. What the
// child cannot say any more (answer.c) is in memory that both see.

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/kind.h"
#include "base/options.h"
#include "base/public.h"
#include "plan/record/record.h"

#define DATA_BYTES_MAX (UINT64_C(8) << 30) // of the child
#define PIECE_BYTES 65536
#define LOOK_MS 50 // between looks whether the child has ended

struct answer {
    char *bytes;
    size_t count, room;
    bool late;
};

// A signal that ends the child: what it was about, for the parent.
static void tell_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    struct recording *recording = tern__recording;
    if (recording != NULL && (number == SIGSEGV || number == SIGBUS)) {
        tern__record_address_text(recording, info->si_addr, recording->shared->fault,
                                  sizeof recording->shared->fault);
    }
    signal(number, SIG_DFL); // the faulting instruction again
}

static void prepare_child(pid_t parent)
{
    static const int signals[] = {SIGSEGV, SIGBUS};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit data = {DATA_BYTES_MAX, DATA_BYTES_MAX};
    setrlimit(RLIMIT_DATA, &data);
#endif
    dup2(STDERR_FILENO, STDOUT_FILENO); // standard output may be where the plan goes
    size_t bytes = (size_t)sysconf(_SC_SIGSTKSZ) + PIECE_BYTES;
    static void *memory; // a name, so that an executor that calls exit() leaks nothing
    memory = malloc(bytes);
    stack_t stack = {.ss_sp = memory, .ss_size = bytes}; // endless recursion has no other
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = tell_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
}

static int record(struct recording *recording, char **text, size_t *length)
{
    tern_plan *plan = NULL;
    tern__recording = recording;
    recording->ranks = calloc((size_t)recording->nranks, sizeof *recording->ranks);
    if (recording->ranks == NULL) {
        return tern__record_finding(TERN_ERR_MEMORY, "not enough memory for the ranks");
    }
    TERN_TRY(tern__record_map(recording));
    TERN_TRY(tern__record_links(recording));
    TERN_TRY(tern__record_drive(recording));
    TERN_TRY(tern__record_prove(recording));
    TERN_TRY(tern__record_emit(recording, &plan));
    return tern_plan_print(plan, text, length);
}

static void run_child(struct recording *recording)
{
    char *text = NULL;
    size_t length = 0;
    pid_t self = getpid();
    int32_t status = record(recording, &text, &length);
    if (getpid() != self) { // the executor has forked; one answer is enough
        return;
    }
    if (status != TERN_OK) {
        tern__record_send_sentence(recording, status);
        return;
    }
    tern__record_send(recording, status, text, length);
}

// What an executor has started may keep the pipe open for longer.
static bool has_ended(pid_t child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
}

// All that the child sends, until the deadline.
static int read_answer(int fd, pid_t child, int64_t deadline_ns, struct answer *answer)
{
    for (;;) {
        if (answer->room - answer->count < PIECE_BYTES) {
            size_t room = answer->room * 2 + (size_t)2 * PIECE_BYTES;
            char *grown = realloc(answer->bytes, room);
            if (grown == NULL) {
                return tern__fail(TERN_ERR_MEMORY, "not enough memory for the recorded plan");
            }
            answer->bytes = grown;
            answer->room = room;
        }
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        bool ended = has_ended(child); // then all that it has sent is there
        int polled = poll(&ready, 1, ended ? 0 : tern__deadline_ms(deadline_ns, LOOK_MS));
        if (polled == 0 && ended) {
            return TERN_OK;
        }
        if (polled == 0 && tern__now_ns() >= deadline_ns) {
            answer->late = true;
            return TERN_OK;
        }
        ssize_t got = polled > 0 ? read(fd, answer->bytes + answer->count, PIECE_BYTES) : -1;
        if (got == 0) {
            return TERN_OK;
        }
        answer->count += got > 0 ? (size_t)got : 0;
    }
}

// Where the executor was: "while rank 2 was recorded, after the call at a.cc:12".
static void where_text(const struct record_shared *shared, char *text, size_t size)
{
    int used = shared->rank < 0 ? snprintf(text, size, "while it was loaded")
                                : snprintf(text, size, "while rank %d was recorded", shared->rank);
    if (shared->line > 0) {
        snprintf(text + used, size - (size_t)used, ", after the call at %.255s:%d", shared->file,
                 shared->line);
    }
}

static int judge(const struct recording *recording, const struct answer *answer, int ended,
                 int64_t timeout_ns, tern_plan **plan)
{
    char where[400];
    int32_t status;
    where_text(recording->shared, where, sizeof where);
    if (answer->late) {
        return tern__fail(TERN_ERR_TIMEOUT, "the executor has not returned after %g s, %s",
                          (double)timeout_ns / 1e9, where);
    }
    if (WIFSIGNALED(ended)) {
        const char *fault = recording->shared->fault;
        return tern__fail(TERN_ERR_ARG, "the executor has crashed (signal %d, %s) %s%s%s",
                          WTERMSIG(ended), strsignal(WTERMSIG(ended)), where,
                          fault[0] != '\0' ? ": it used " : "", fault);
    }
    if (answer->count < sizeof status) {
        return tern__fail(TERN_ERR_ARG, "the executor has ended its process, with status %d, %s",
                          WEXITSTATUS(ended), where);
    }
    memcpy(&status, answer->bytes, sizeof status);
    const char *text = answer->bytes + sizeof status;
    size_t length = answer->count - sizeof status;
    if (status < 0) {
        return tern__fail(status, "%.*s", (int)(length < TERN_ERROR_BYTES ? length : 1000), text);
    }
    return tern_plan_parse(text, length, "the recorded plan", plan);
}

static int run_recording(struct recording *recording, int64_t timeout_ns, tern_plan **plan)
{
    int ends[2];
    struct answer answer = {0};
    int64_t deadline_ns = tern__deadline_after(timeout_ns);
    if (pipe(ends) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "a pipe to the executor cannot be made");
    }
    pid_t parent = getpid();
    fflush(NULL); // else the child's end would write it again
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        prepare_child(parent);
        recording->answer_fd = ends[1];
        run_child(recording);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return tern__fail_errno(TERN_ERR_SYSTEM, "a process for the executor cannot be made");
    }
    int status = read_answer(ends[0], child, deadline_ns, &answer);
    int ended = 0;
    setpgid(child, child);
    if (status != TERN_OK || answer.late) {
        kill(child, SIGKILL);
    }
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
    }
    kill(-child, SIGKILL); // what it may have started
    close(ends[0]);
    status = status == TERN_OK ? judge(recording, &answer, ended, timeout_ns, plan) : status;
    free(answer.bytes);
    return status;
}

static int check_request(const tern_record_request *request)
{
    tern_plan_kind kind = request->kind;
    if (request->library == NULL || request->topo == NULL) {
        return tern__fail(TERN_ERR_ARG, "an executor is recorded from a shared object, for a "
                                        "topology");
    }
    const tern_kind_facts *facts = tern_coll_kind_facts(kind);
    if (facts == NULL || facts->plan != (int)kind || kind == TERN_PLAN_BARRIER ||
        kind == TERN_PLAN_BROADCAST) {
        return tern__fail(TERN_ERR_ARG,
                          "executors of %s are not recorded; of the other kinds that "
                          "move bytes they are",
                          facts != NULL ? facts->word : "that kind");
    }
    if (request->ccl_bytes > TERN_PLAN_BYTES_MAX / 2 || request->bytes > TERN_PLAN_BYTES_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "buffers of an executor have at most 2^47 bytes");
    }
    if (access(request->library, R_OK) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "the executor '%s' cannot be read",
                                request->library);
    }
    // The rest is what a plan may be.
    tern_plan *plan = NULL;
    tern_plan_spec spec = {.kind = kind,
                           .nranks = tern_topo_size(request->topo),
                           .bytes = request->bytes,
                           .unit = request->unit,
                           .root = request->root};
    int status = tern_plan_create(&spec, &plan);
    tern_plan_destroy(plan);
    return status;
}

static int find_links(const tern_topo *topo, bool **linked)
{
    int n = tern_topo_size(topo);
    *linked = calloc((size_t)n * (size_t)n, sizeof(bool));
    if (*linked == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "not enough memory for the links of %d ranks", n);
    }
    for (int i = 0; i < n * n; i++) {
        (*linked)[i] = tern_topo_link(topo, i / n, i % n, NULL);
    }
    return TERN_OK;
}

static int record_plan(const tern_record_request *request, tern_plan **plan)
{
    if (request == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_record_plan needs a request and a place for the plan");
    }
    *plan = NULL;
    int64_t timeout_ns;
    bool *linked = NULL;
    struct recording recording = {.request = *request, .op = TERN_SUM};
    TERN_TRY(tern__timeout_option(request->timeout_ns, &timeout_ns));
    TERN_TRY(check_request(request));
    if (request->ccl_bytes == 0) {
        TERN_TRY(tern__ccl_option(&recording.request.ccl_bytes));
    }
    recording.nranks = tern_topo_size(request->topo);
    recording.dtype = request->unit == 1   ? TERN_I8
                      : request->unit == 2 ? TERN_F16
                      : request->unit == 4 ? TERN_F32
                                           : TERN_I64;
    recording.shared = mmap(NULL, sizeof *recording.shared, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (recording.shared == MAP_FAILED) {
        return tern__fail_errno(TERN_ERR_MEMORY, "memory that the executor's process shares");
    }
    recording.shared->rank = -1;
    int status = find_links(request->topo, &linked);
    recording.linked = linked;
    status = status == TERN_OK ? run_recording(&recording, timeout_ns, plan) : status;
    free(linked);
    munmap(recording.shared, sizeof *recording.shared);
    return status;
}

int tern_record_plan(const tern_record_request *request, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(record_plan(request, plan));
}
