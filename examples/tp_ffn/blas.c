// SPDX-License-Identifier: Apache-2.0
// OpenBLAS's kernels (blas.h).
#include "blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cblas.h>

#define CORETYPE "OPENBLAS_CORETYPE" // read by OpenBLAS
#define TAKEN "TP_FFN_BLAS_TAKEN" // ours: what OpenBLAS had taken before this program corrected it

// What OpenBLAS falls back to, by decreasing age. Kernels of processors that have AVX2 are not
// here: between those the differences are small.
static const char *const old_kernels[] = {"Prescott",  "Core2",     "Penryn",     "Nehalem",
                                          "Barcelona", "Bulldozer", "Sandybridge"};

const char *blas_better(const char *taken, struct blas_cpu cpu)
{
    const char *better = cpu.avx512 ? "SkylakeX" : cpu.avx2 ? "Haswell" : NULL;
    for (size_t i = 0; i < sizeof old_kernels / sizeof old_kernels[0]; i++) {
        if (strcasecmp(taken, old_kernels[i]) == 0) {
            return better;
        }
    }
    return NULL;
}

static struct blas_cpu look(void)
{
    struct blas_cpu cpu = {0};
#if defined(__x86_64__)
    cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
    cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return cpu;
}

void blas_begin(char **argv)
{
    const char *taken = openblas_get_corename();
    const char *better = getenv(CORETYPE) == NULL ? blas_better(taken, look()) : NULL;
    if (better != NULL && setenv(CORETYPE, better, 1) == 0 && setenv(TAKEN, taken, 1) == 0) {
        execv("/proc/self/exe", argv); // goes on below with the old kernels if this fails
    }
    openblas_set_num_threads(1);
}

void blas_report(void)
{
    const char *taken = getenv(TAKEN);
    printf("OpenBLAS with its %s kernels", openblas_get_corename());
    if (taken != NULL) {
        printf(", selected by what the processor can do; OpenBLAS itself took %s", taken);
    } else if (getenv(CORETYPE) != NULL) {
        printf(", from %s", CORETYPE);
    }
    putchar('\n');
}
