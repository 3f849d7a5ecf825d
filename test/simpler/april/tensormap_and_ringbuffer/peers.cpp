// SPDX-License-Identifier: Apache-2.0
// One of two ranks: stores to the peer's window and counts there; a task waits for the peer's
// counts, holding no core, and what follows it reads what the peer stored. A tensor: the result;
// scalars: the own window and the peer's, a counter of 64 bytes and then data.
#include "pto_orchestration_api.h"

enum { LATE, COUNTS, COPY };

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    uint32_t shapes[] = {16};
    Tensor result = from_tensor_arg(args.tensor(0));
    Tensor own = make_tensor_external(reinterpret_cast<void *>(args.scalar(0) + 64), shapes, 1);
    Tensor peer = make_tensor_external(reinterpret_cast<void *>(args.scalar(1) + 64), shapes, 1);
    Arg late;
    late.add_output(own);
    late.add_scalar(args.scalar(0));
    pto2_rt_submit_aiv_task(LATE, late);
    Arg counts;
    counts.add_no_dep(own);
    counts.add_output(peer);
    counts.add_scalar(args.scalar(1));
    pto2_rt_submit_aiv_task(COUNTS, counts);
    Arg copy;
    copy.add_input(own);
    copy.add_output(result);
    rt_submit_aiv_task(COPY, copy);
}
