// SPDX-License-Identifier: Apache-2.0
#include "base/fault.h"

#include <pthread.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "base/order.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { SIGNALS = sizeof signals / sizeof signals[0], SAYERS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int watched;                               // sum of the counts
static int counts[SAYERS];                        // of the watchers of each
static _Atomic(tern__fault_say *) sayers[SAYERS]; // each stays once it has come
static _Atomic uint32_t asked;                    // a bit for each whose count is not 0
static struct sigaction before[SIGNALS];
static bool under[SIGNALS]; // another handler came after ours, and was there when ours was to go

void tern__fault_add(struct tern__fault *fault, const char *words)
{
    while (*words != '\0' && fault->used < sizeof fault->text) {
        fault->text[fault->used++] = *words++;
    }
}

static void add_digits(struct tern__fault *fault, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    tern__fault_add(fault, digits + at);
}

void tern__fault_add_number(struct tern__fault *fault, uint64_t number)
{
    add_digits(fault, number, 10);
}

void tern__fault_begin(struct tern__fault *fault)
{
    tern__fault_add(fault, "tern: ");
    if (tern__log_rank() >= 0) {
        tern__fault_add(fault, "rank ");
        tern__fault_add_number(fault, (uint64_t)tern__log_rank());
        tern__fault_add(fault, ": ");
    }
}

void tern__fault_describe(struct tern__fault *fault)
{
    if (fault->info->si_code <= 0) { // from abort() or raise(), or from another process
        tern__fault_add(fault, fault->number == SIGABRT ? "abort()" : "a signal that was sent");
    } else if (fault->number == SIGFPE) {
        tern__fault_add(fault, "a division by zero or an overflow");
    } else if (fault->number == SIGILL) {
        tern__fault_add(fault, "an instruction that the processor does not have");
    } else if (fault->info->si_code == SI_KERNEL) { // not one of the 2^47 addresses that there are
        tern__fault_add(fault, "a pointer that is no address");
    } else {
        tern__fault_add(fault, fault->number == SIGSEGV && fault->info->si_code == SEGV_ACCERR
                                   ? "memory that may not be used so at address 0x"
                                   : "no memory to use at address 0x");
        add_digits(fault, (uintptr_t)fault->info->si_addr, 16);
    }
}

static uintptr_t stack_pointer(const void *context)
{
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

static void tell(int number, const siginfo_t *info, const void *context)
{
    uint32_t ask = tern__peek(&asked);
    for (int i = 0; i < SAYERS; i++) {
        if ((ask >> i & 1) != 0) {
            struct tern__fault fault = {.number = number,
                                        .info = info,
                                        .stack_pointer = stack_pointer(context)};
            atomic_load_explicit(&sayers[i], memory_order_acquire)(&fault);
            ssize_t written = write(STDERR_FILENO, fault.text, fault.used);
            (void)written; // the process ends in any case
        }
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int which = 0;
    while (signals[which] != number) {
        which++;
    }
    struct sigaction *old = &before[which];
    bool of_kernel = info->si_code > 0;
    tell(number, info, context);
    if ((old->sa_flags & SA_SIGINFO) != 0) {
        old->sa_sigaction(number, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
    } else if (of_kernel || old->sa_handler == SIG_DFL) {
        struct sigaction end = {.sa_handler = SIG_DFL};
        sigaction(number, &end, NULL); // the instruction is run again
        if (!of_kernel) {
            raise(number);
        }
    }
}

// Whoever came after ours calls it as the one before: with that one before ours, each would call
// the other for ever.
static bool is_under_another(int which)
{
    struct sigaction now;
    return under[which] && sigaction(signals[which], NULL, &now) == 0 &&
           ((now.sa_flags & SA_SIGINFO) != 0 ||
            (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN));
}

void tern__fault_watch(tern__fault_say *say)
{
    pthread_mutex_lock(&lock);
    int which = 0;
    while (atomic_load(&sayers[which]) != NULL && atomic_load(&sayers[which]) != say) {
        which++;
    }
    atomic_store(&sayers[which], say);
    counts[which]++;
    atomic_fetch_or(&asked, 1u << which);
    for (int i = 0; i < SIGNALS && watched == 0; i++) {
        struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        if (!is_under_another(i)) {
            sigaction(signals[i], &action, &before[i]);
            under[i] = false;
        }
    }
    watched++;
    pthread_mutex_unlock(&lock);
}

static void restore(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        // Whoever has come later has ours as the one before.
        if (sigaction(signals[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
            now.sa_sigaction == on_fault) {
            sigaction(signals[i], &before[i], NULL);
        } else {
            under[i] = true;
        }
    }
}

// A program that lets go of the library keeps its process. Who has the lock, another thread while
// the process ends, or one that a fork has left behind, may keep it: the process is over.
__attribute__((destructor)) static void restore_all(void)
{
    if (pthread_mutex_trylock(&lock) != 0) {
        return;
    }
    if (watched > 0) {
        restore();
    }
    pthread_mutex_unlock(&lock);
}

void tern__fault_unwatch(tern__fault_say *say)
{
    pthread_mutex_lock(&lock);
    int which = 0;
    while (atomic_load(&sayers[which]) != say) {
        which++;
    }
    counts[which]--;
    if (counts[which] == 0) {
        atomic_fetch_and(&asked, ~(1u << which));
    }
    watched--;
    if (watched == 0) {
        restore();
    }
    pthread_mutex_unlock(&lock);
}
