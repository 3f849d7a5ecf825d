// SPDX-License-Identifier: Apache-2.0
// What this process has made and nobody has touched yet. Set-up path.

#include "mem/promised.h"

#include <pthread.h>

#include "mem/memfd.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static struct tern__promised *first;

static void forget(void)
{
    pthread_mutex_init(&lock, NULL); // another thread of the parent may have held it
    first = NULL;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget);
}

void tern__promised_add(struct tern__promised *promised, int fd, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    *promised = (struct tern__promised){.next = first, .fd = fd, .bytes = bytes};
    first = promised;
    pthread_mutex_unlock(&lock);
}

void tern__promised_remove(const struct tern__promised *promised)
{
    pthread_mutex_lock(&lock);
    struct tern__promised **link = &first;
    while (*link != NULL && *link != promised) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = promised->next;
    }
    pthread_mutex_unlock(&lock);
}

uint64_t tern__promised_untouched(void)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&lock);
    for (const struct tern__promised *one = first; one != NULL; one = one->next) {
        sum += tern__memfd_untouched(one->fd, one->bytes);
    }
    pthread_mutex_unlock(&lock);
    return sum;
}
