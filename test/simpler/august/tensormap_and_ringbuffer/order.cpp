// SPDX-License-Identifier: Apache-2.0
// Tasks that only order: y = x behind a barrier of many tasks, where nothing follows from tensors,
// and z from an output that a chain of them has passed on. Under the earlier names. Tensors x, y,
// z.
#include "pto_arg_with_deps.h"
#include "pto_orchestration_api.h"

enum { SLOW, COPY };
enum { MANY = 300, CHAIN = 10 };

static TaskOutputTensors slow(const Tensor *into, const TensorCreateInfo *made)
{
    L0TaskArgs args;
    if (into != nullptr) {
        args.add_output(*into);
    } else {
        args.add_output(*made);
    }
    args.add_scalar(1.0f);
    return rt_submit_aiv_task(SLOW, args);
}

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs &orch_args)
{
    (void)orch_args;
    return PTO2OrchestrationConfig{.expected_arg_count = 3};
}

extern "C" void aicpu_orchestration_entry(const L2TaskArgs &orch_args)
{
    const Tensor &x = orch_args.tensor(0).ref();
    const Tensor &y = orch_args.tensor(1);
    TensorCreateInfo info(x.shapes, 1);
    PTO2TaskId tasks[MANY];
    PTO2_SCOPE(PTO2ScopeMode::MANUAL)
    {
        tasks[0] = slow(&x, nullptr).task_id();
        for (int i = 1; i < MANY; i++) {
            L0TaskArgs none;
            tasks[i] = i % 3 == 0 ? PTO2TaskId::invalid() : rt_submit_dummy_task(none).task_id();
        }
        L0TaskArgs all;
        all.set_dependencies(tasks, MANY);
        PTO2TaskId barrier = rt_submit_dummy_task(all).task_id();
        CoreTaskArgsWithDeps<2> copy;
        copy.add_dep(barrier);
        copy.add_dep_wait(tasks[1]);
        copy.add_input(x);
        copy.add_output(y);
        rt_submit_aiv_task(COPY, copy);
    }

    TaskOutputTensors made = slow(nullptr, &info);
    for (int i = 0; i < CHAIN; i++) {
        L0TaskArgs pass;
        pass.add_inout(made.get_ref(0));
        rt_submit_dummy_task(pass);
    }
    L0TaskArgs last;
    last.add_input(made.get_ref(0));
    last.add_inout(orch_args.tensor(2).ref());
    rt_submit_aiv_task(COPY, last);
}
