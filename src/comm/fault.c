// SPDX-License-Identifier: Apache-2.0
// A fault at an address of a window gets a sentence, with what is allowed in a signal handler; then
// it goes on as it would have: to the handler that was there, or to the end of the process.

#include "comm/fault.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "comm/registry.h"
#include "comm/window.h"

static const int signals[] = {SIGSEGV, SIGBUS};
enum { SIGNALS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int watched;
static struct sigaction before[SIGNALS];

struct line {
    char text[400];
    size_t used;
};

static void add(struct line *line, const char *words)
{
    while (*words != '\0' && line->used < sizeof line->text) {
        line->text[line->used++] = *words++;
    }
}

static void add_number(struct line *line, size_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    add(line, digits + at);
}

// Says whose memory it was, if it is of a window and of another machine.
static void name_address(const char *address)
{
    tern_window *window;
    if (!tern__registry_find(address, &window)) {
        return;
    }
    size_t at = (size_t)(address - window->base);
    int rank = (int)(at / window->size_bytes);
    if (tern__window_is_mapped(window, rank)) {
        return;
    }
    struct line line = {.used = 0};
    add(&line, "tern: rank ");
    add_number(&line, (size_t)window->rank);
    add(&line, " touched byte ");
    add_number(&line, at % window->size_bytes);
    add(&line, " of rank ");
    add_number(&line, (size_t)rank);
    if (window->heap) {
        add(&line, "'s memory of tern_alloc");
    } else {
        add(&line, "'s part of window ");
        add_number(&line, window->number);
    }
    if (window->comm->group.slot != 0) {
        add(&line, " of communicator ");
        add_number(&line, (size_t)window->comm->group.slot);
    }
    add(&line, ", which is on machine ");
    add(&line, tern__window_machine(window, rank));
    add(&line,
        window->heap ? ": a window reaches other machines\n" : ": put, get and notify reach it\n");
    (void)!write(STDERR_FILENO, line.text, line.used);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    struct sigaction *old = &before[number == SIGBUS];
    bool of_kernel = info->si_code > 0;
    if (of_kernel) {
        name_address(info->si_addr);
    }
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

void tern__fault_watch(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SIGNALS && watched == 0; i++) {
        struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], &action, &before[i]);
    }
    watched++;
    pthread_mutex_unlock(&lock);
}

void tern__fault_unwatch(void)
{
    pthread_mutex_lock(&lock);
    watched--;
    for (int i = 0; i < SIGNALS && watched == 0; i++) {
        struct sigaction now;
        // Whoever has come later has ours as the one before.
        if (sigaction(signals[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
            now.sa_sigaction == on_fault) {
            sigaction(signals[i], &before[i], NULL);
        }
    }
    pthread_mutex_unlock(&lock);
}
