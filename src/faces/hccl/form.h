// SPDX-License-Identifier: Apache-2.0
// The form of a call: HCCL's words for types and operations as tern's, and the checks of what a
// rank can see alone, which are those of tern's calls under HCCL's names.
#ifndef TERN_FACES_HCCL_FORM_H
#define TERN_FACES_HCCL_FORM_H

#include "faces/hccl/order.h"

// What the communicator's calls are checked against; freed with free. NULL: no memory.
struct tern__calls *tern__hccl_form_new(uint32_t rank, uint32_t size);

// The element type of a number of HCCL; false: it is none.
bool tern__hccl_dtype_is(uint32_t number, tern_dtype *dtype);
HcclResult tern__hccl_dtype(const char *call, HcclDataType type, tern_dtype *dtype);
HcclResult tern__hccl_op(const char *call, HcclDataType type, HcclReduceOp op,
                         tern_reduce_op *result);

// Two types or counts that must be the same.
HcclResult tern__hccl_same_types(const char *call, HcclDataType send, HcclDataType recv);

// Could this rank make the call, collective or message? alone: a message that goes to oneself has
// nobody to meet.
HcclResult tern__hccl_form(const char *call, const struct hccl *comm, const tern_coll *coll,
                           bool alone);

// A call without arrays: checked, and made.
HcclResult tern__hccl_make(const char *call, struct hccl *comm, const tern_coll *coll,
                           tern_stream *stream);

#endif
