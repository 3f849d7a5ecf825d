// SPDX-License-Identifier: Apache-2.0
// In a test that says `ctest-threads: none`: this pthread_create is found before the C library's,
// also by the library under test, and ends the process. Such a test is not run under
// ThreadSanitizer, which sees nothing in it; this keeps that true. With ranks on several machines,
// threads receive.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument)
{
    static const char text[] = "a thread starts in a test that says 'ctest-threads: none': "
                               "take that out of it, so that ThreadSanitizer runs it\n";
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    bool machines = getenv("TERN_TEST_MACHINES") != NULL || getenv("TERN_MACHINE") != NULL;
    if (!machines || next == NULL) {
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        abort();
    }
    return next(thread, attributes, run, argument);
}
