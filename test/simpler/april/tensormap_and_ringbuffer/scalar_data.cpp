// SPDX-License-Identifier: Apache-2.0
// Single elements between tasks. Tensors a, b, result, check.
#include "pto_orchestration_api.h"

enum { ADD, NOTHING };

static Tensor check;

static void keep(uint32_t at, float value)
{
    uint32_t index[] = {at};
    set_tensor_data<float>(check, 1, index, value);
}

static float element(const Tensor &tensor, uint32_t at)
{
    uint32_t index[] = {at};
    return get_tensor_data<float>(tensor, 1, index);
}

static void set_element(const Tensor &tensor, uint32_t at, float value)
{
    uint32_t index[] = {at};
    set_tensor_data(tensor, 1, index, value);
}

static TaskOutputTensors add(const Tensor &left, const Tensor &right, const TensorCreateInfo &info)
{
    Arg arg;
    arg.add_input(left, right);
    arg.add_output(info);
    return rt_submit_aiv_task(ADD, arg);
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor a = from_tensor_arg(args.tensor(0));
    Tensor b = from_tensor_arg(args.tensor(1));
    Tensor result = from_tensor_arg(args.tensor(2));
    check = from_tensor_arg(args.tensor(3));
    TensorCreateInfo info(a.shapes, 1);

    TaskOutputTensors sum = add(a, b, info);
    const Tensor &c = sum.get_ref(0);
    keep(0, element(c, 0));
    keep(1, element(c, 100));

    TensorCreateInfo filled(a.shapes, 1);
    filled.set_initial_value(77.0f);
    TaskOutputTensors made = alloc_tensors(filled, info);
    const Tensor &x = made.get_ref(0);
    keep(2, element(x, 0));
    Arg nothing;
    nothing.add_inout(x);
    rt_submit_aiv_task(NOTHING, nothing);
    keep(3, element(x, 0));
    TaskOutputTensors more = add(a, x, info);
    keep(4, element(more.get_ref(0), 0));

    const Tensor &d = made.get_ref(1);
    set_element(d, 1, 42);
    keep(5, element(d, 1));
    set_element(d, 0, 10);
    TaskOutputTensors last = add(d, a, info);
    keep(6, element(last.get_ref(0), 0));

    Arg copy;
    copy.add_input(a, b);
    copy.add_output(result);
    rt_submit_aiv_task(ADD, copy);
    Arg reader; // an INOUT reader: set waits for it in every mode
    reader.add_input(a, b);
    reader.add_inout(c);
    rt_submit_aiv_task(ADD, reader);
    set_element(c, 0, 88);
    keep(7, element(c, 0));

    Arg writer;
    writer.add_input(a, a);
    writer.add_output(b);
    rt_submit_aiv_task(ADD, writer);
    set_element(b, 0, 55);
    keep(8, element(b, 0));
}
