// SPDX-License-Identifier: Apache-2.0
// What the runtime gives up by itself. A tensor of 128 elements; the scalar is the code that it is
// to end with, in rings that the environment makes small.
#include "pto_orchestration_api.h"

enum { NOTHING, CONDITIONS };

static void submit_nothing(int count)
{
    for (int i = 0; i < count; i++) {
        rt_submit_aiv_task(NOTHING, Arg());
    }
}

static void nest(int scopes)
{
    PTO2_SCOPE()
    {
        submit_nothing(3);
        if (scopes > 1) {
            nest(scopes - 1);
        }
    }
}

static void allocate()
{
    uint32_t shapes[] = {8192};
    alloc_tensors(TensorCreateInfo(shapes, 1));
}

static void read_what_many_wrote(const Tensor &whole)
{
    for (uint32_t i = 0; i < 128; i++) {
        uint32_t shapes[] = {1};
        Tensor part = whole.view(shapes, &i);
        Arg write;
        write.add_output(part);
        rt_submit_aiv_task(NOTHING, write);
    }
    Arg read;
    read.add_input(whole);
    rt_submit_aiv_task(NOTHING, read);
}

static void start_many_at_once()
{
    Arg arg;
    arg.launch_spec.set_block_num(1000);
    arg.launch_spec.set_require_sync_start(true);
    rt_submit_aiv_task(NOTHING, arg);
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor whole = from_tensor_arg(args.tensor(0));
    Arg conditions;
    conditions.add_scalars(&args.scalars_[0], 1);
    switch (args.scalar(0)) {
    case 1:
        PTO2_SCOPE()
        {
            submit_nothing(8);
        }
        break;
    case 2:
        allocate();
        break;
    case 3:
        nest(8);
        break;
    case 4:
        read_what_many_wrote(whole);
        break;
    case 7:
        start_many_at_once();
        break;
    default:
        rt_submit_aiv_task(CONDITIONS, conditions);
        break;
    }
    submit_nothing(4);
}
