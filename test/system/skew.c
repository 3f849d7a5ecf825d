// SPDX-License-Identifier: Apache-2.0
// For LD_PRELOAD: CLOCK_MONOTONIC of a process is SKEW_S seconds ahead, and faster by SKEW_PPM
// millionths: as on a machine that has been up for longer.
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void find(void)
{
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static double ahead_s, faster;
    static int known;
    if (real == NULL) {
        find();
    }
    int status = real(clock, now);
    if (known == 0) {
        const char *seconds = getenv("SKEW_S");
        const char *millionths = getenv("SKEW_PPM");
        ahead_s = seconds != NULL ? strtod(seconds, NULL) : 0;
        faster = millionths != NULL ? strtod(millionths, NULL) * 1e-6 : 0;
        known = 1;
    }
    if (status == 0 && clock == CLOCK_MONOTONIC) {
        double s = (double)now->tv_sec;
        long long ns = (long long)((s * faster + ahead_s) * 1e9) +
                       (long long)((double)now->tv_nsec * (1 + faster));
        now->tv_sec += ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return status;
}
