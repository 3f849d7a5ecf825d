// SPDX-License-Identifier: Apache-2.0
// Produces, waits for the notification without holding a core, consumes. `arrived` is a tensor that
// nobody writes: its producer is the task that waits. Arguments, all scalars: in, out, result,
// notify_counter, context.
#include "pto_orchestration_api.h"

enum { PRODUCE, AWAIT, CONSUME };
enum { IN, OUT, RESULT, COUNTER, CONTEXT };

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    uint32_t shapes[] = {128, 128};
    auto memory = [&](int arg) {
        return make_tensor_external(reinterpret_cast<void *>(args.scalar(arg)), shapes, 2);
    };
    Tensor out = memory(OUT), result = memory(RESULT);
    uint32_t one[] = {1, 1};
    Tensor arrived = make_tensor_external(reinterpret_cast<void *>(args.scalar(COUNTER)), one, 2);

    Arg produce;
    produce.add_output(out);
    produce.add_scalar(args.scalar(IN), args.scalar(COUNTER), args.scalar(CONTEXT));
    rt_submit_aiv_task(PRODUCE, produce);
    Arg await;
    await.add_output(arrived);
    await.add_scalar(args.scalar(COUNTER));
    rt_submit_aiv_task(AWAIT, await);
    Arg consume;
    consume.add_input(out);
    consume.add_input(arrived);
    consume.add_output(result);
    consume.add_scalar(args.scalar(COUNTER));
    rt_submit_aiv_task(CONSUME, consume);
}
