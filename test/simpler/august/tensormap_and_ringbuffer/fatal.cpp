// SPDX-License-Identifier: Apache-2.0
// Gives up with the code that is its scalar: INVALID_ARGS in four ways, or one's own reason.
#include "orchestration_api.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &args)
{
    PTO2TaskId task = PTO2TaskId::invalid();
    const uint64_t how = args.scalar(0);
    CoreTaskArgs none, much;
    CoreTaskArgsWithDeps<1> full;
    if (how == SIMPLER_ERROR_EXPLICIT_ORCH_FATAL) {
        rt_report_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, "because of %d", 7);
    } else if (how == 5) {
        none.set_dependencies(nullptr, 4);
        rt_submit_dummy_task(none);
    } else if (how == 52) {
        CoreTaskPredicate behind; // the last element
        behind.operand.tensor = &args.tensor(0).ref();
        behind.operand.ndims = 1;
        behind.operand.indices[0] = args.tensor(0).ref().shapes[0];
        none.set_predicate(behind);
        rt_submit_dummy_task(none);
    } else if (how == 50) {
        full.add_dep(task, task);
        rt_submit_dummy_task(full);
    } else {
        much.set_dependencies(&task, 70000);
        rt_submit_dummy_task(much);
    }
}
