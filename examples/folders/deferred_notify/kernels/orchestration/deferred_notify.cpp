// SPDX-License-Identifier: Apache-2.0
// Sends, waits for what the next rank sends without holding a core, then takes it. Arguments, all
// scalars: partial, mailbox, result, words, ranks, context.
#include "pto_orchestration_api.h"

enum { SEND, ARRIVE, TAKE };
enum { PARTIAL, MAILBOX, RESULT, WORDS, RANKS, CONTEXT };

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    uint32_t shapes[] = {64, 64};
    auto memory = [&](int arg) {
        return make_tensor_external(reinterpret_cast<void *>(args.scalar(arg)), shapes, 2);
    };
    Tensor mailbox = memory(MAILBOX);
    Tensor result = memory(RESULT);
    uint64_t words = args.scalar(WORDS);
    uint64_t ranks = args.scalar(RANKS);
    uint64_t context = args.scalar(CONTEXT);

    Arg send;
    send.add_scalar(args.scalar(PARTIAL), args.scalar(MAILBOX), words, ranks, context);
    TaskOutputTensors sent = rt_submit_aiv_task(SEND, send);
    Arg arrive;
    arrive.add_output(mailbox); // by the next rank, before the task is complete
    arrive.add_scalar(words, ranks, context);
    arrive.add_dep(sent.task_id()); // which counts what has been sent
    rt_submit_aiv_task(ARRIVE, arrive);
    Arg take;
    take.add_input(mailbox);
    take.add_output(result);
    take.add_scalar(words, ranks, context);
    rt_submit_aiv_task(TAKE, take);
}
