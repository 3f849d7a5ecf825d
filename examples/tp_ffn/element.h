// SPDX-License-Identifier: Apache-2.0
// The two element types of the layer: f32, and bf16 whose arithmetic is done in f32. What travels
// between ranks has the element type; what a matrix product reads and writes is f32.
#ifndef TP_FFN_ELEMENT_H
#define TP_FFN_ELEMENT_H

#include <stddef.h>

#include <tern/dtype.h>

// Half the distance between 1 and the next number: the largest relative error of one rounding.
double element_roundoff(tern_dtype dtype);

// values[i] becomes the nearest number of the type (ties to even). Nothing changes for f32.
void elements_round(tern_dtype dtype, float *values, size_t count);

// f32 to the type and back. Where the type is f32 both copy, or do nothing in place.
void elements_pack(tern_dtype dtype, const float *values, void *elements, size_t count);
void elements_unpack(tern_dtype dtype, const void *elements, float *values, size_t count);

// sums[i] += elements[i]
void elements_add(tern_dtype dtype, float *sums, const void *elements, size_t count);

#endif
