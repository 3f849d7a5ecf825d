// SPDX-License-Identifier: Apache-2.0
// Tasks with a predicate: y[0] = x[0] where it holds, z[0] stays where it does not, and what comes
// after goes on. The gate is an element of a matrix that a task writes. Tensors x, y, z.
#include "orchestration_api.h"

enum { SLOW, COPY };

static TaskId copy_if(const Tensor &from, const Tensor &to, const CoreTaskPredicate &predicate,
                      TaskId gate)
{
    CoreTaskArgs args;
    args.add_input(from);
    args.add_inout(to);
    args.set_dependencies(&gate, 1);
    args.set_predicate(predicate);
    return rt_submit_aiv_task(COPY, args).task_id();
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &args)
{
    const Tensor &x = args.tensor(0).ref();
    const uint32_t shapes[2] = {2, 3};
    TensorCreateInfo info(shapes, 2);
    CoreTaskArgs write, one;
    write.add_output(info);
    write.add_scalar(7.0f);
    TaskOutputTensors gate = rt_submit_aiv_task(SLOW, write); // its first element
    one.add_output(x);
    one.add_scalar(1.0f);
    rt_submit_aiv_task(SLOW, one);

    CoreTaskPredicate predicate;
    predicate.operand.tensor = &gate.get_ref(0);
    predicate.operand.ndims = 2;
    predicate.op = PredicateOp::GT;
    predicate.target = 6;
    TaskId does = copy_if(x, args.tensor(1).ref(), predicate, gate.task_id());
    predicate.target = 7;
    TaskId does_not = copy_if(x, args.tensor(2).ref(), predicate, gate.task_id());

    L0TaskPredicate less = predicate;
    less.op = PredicateOp::LE;
    CoreTaskArgsWithDeps<> last;
    last.add_dep(does, does_not);
    last.add_input(args.tensor(1).ref());
    last.add_inout(args.tensor(1).ref());
    last.set_predicate(less);
    rt_submit_aiv_task(COPY, last);
}
