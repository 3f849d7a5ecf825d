// SPDX-License-Identifier: Apache-2.0
// Which kernels OpenBLAS multiplies with. It selects by the model of the processor, and takes those
// of a processor of 2004 ("Prescott") for a model newer than itself: a quarter of the speed, or
// less. What the processor can do is known from its features, so this program corrects that.
#ifndef TP_FFN_BLAS_H
#define TP_FFN_BLAS_H

#include <stdbool.h>

// What matters of a processor here.
struct blas_cpu {
    bool avx512; // F, CD, BW, DQ and VL
    bool avx2;   // and FMA
};

// The kernels that suit the processor better than those OpenBLAS took (openblas_get_corename), as a
// word for OPENBLAS_CORETYPE; NULL when it took good ones.
const char *blas_better(const char *taken, struct blas_cpu cpu);

// To be called first in main: when there are better kernels, starts the program anew with
// OPENBLAS_CORETYPE in its environment, because OpenBLAS reads that while it is loaded. A value
// that is there already is left alone. One thread per product: a core of the chip is a thread.
void blas_begin(char **argv);

// One line on standard output: which kernels, and why.
void blas_report(void);

#endif
