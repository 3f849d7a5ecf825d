// SPDX-License-Identifier: Apache-2.0
// dispatch, then the experts of this rank beside each other on matrix cores, then combine; the
// order follows from the tensors. Arguments: x, choices, gates, weights, y, places, received,
// computed, counts, signals, ranks, context.
#include "pto_orchestration_api.h"

#include "../shape.hpp"

enum { DISPATCH, EXPERT, COMBINE };
enum { X, CHOSEN, GATES, WEIGHTS, Y, PLACES, RECEIVED, COMPUTED, COUNTS, SIGNALS, RANKS, CONTEXT };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{12};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    auto memory = [&](int arg, uint32_t rows, uint32_t columns, DataType type) {
        uint32_t shapes[] = {rows, columns};
        return make_tensor_external(reinterpret_cast<void *>(args[arg]), shapes, 2, type);
    };
    Tensor x = memory(X, TOKENS, WIDTH, DataType::FLOAT32);
    Tensor choices = memory(CHOSEN, TOKENS, CHOICES, DataType::INT32);
    Tensor gates = memory(GATES, TOKENS, CHOICES, DataType::FLOAT32);
    Tensor weights = memory(WEIGHTS, EXPERTS * WIDTH, WIDTH, DataType::FLOAT32);
    Tensor y = memory(Y, TOKENS, WIDTH, DataType::FLOAT32);
    Tensor places = memory(PLACES, TOKENS, CHOICES, DataType::INT32);
    Tensor received = memory(RECEIVED, EXPERTS * ROWS, WIDTH, DataType::FLOAT32);
    Tensor computed = memory(COMPUTED, EXPERTS * ROWS, WIDTH, DataType::FLOAT32);
    PTOParam signals = make_scalar_param(args[SIGNALS]);
    PTOParam ranks = make_scalar_param(args[RANKS]);
    PTOParam context = make_scalar_param(args[CONTEXT]);

    // What the peers put into `received` is there when dispatch ends, so it counts as its output.
    PTOParam dispatch[] = {make_input_param(x),
                           make_input_param(choices),
                           make_output_param(places),
                           make_output_param(received),
                           make_scalar_param(args[COUNTS]),
                           signals,
                           ranks,
                           context};
    pto2_rt_submit_aiv_task(rt, DISPATCH, dispatch, 8);
    for (uint32_t expert = 0; expert < EXPERTS; expert++) {
        uint32_t rows[] = {ROWS, WIDTH}, row[] = {expert * ROWS, 0};
        uint32_t square[] = {WIDTH, WIDTH}, corner[] = {expert * WIDTH, 0};
        Tensor in = received.view(rows, row);
        Tensor own = weights.view(square, corner);
        Tensor out = computed.view(rows, row);
        PTOParam matmul[] = {make_input_param(in), make_input_param(own), make_output_param(out)};
        pto2_rt_submit_aic_task(rt, EXPERT, matmul, 3);
    }
    PTOParam combine[] = {make_input_param(choices),
                          make_input_param(places),
                          make_input_param(gates),
                          make_input_param(computed),
                          make_output_param(y),
                          signals,
                          ranks,
                          context};
    pto2_rt_submit_aiv_task(rt, COMBINE, combine, 8);
}
