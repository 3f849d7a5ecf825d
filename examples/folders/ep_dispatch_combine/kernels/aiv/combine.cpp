// SPDX-License-Identifier: Apache-2.0
// y of a token = the sum over its experts of gate * what that expert made of it, read from where
// dispatch put the token. Arguments: choices, places, gates, computed, y; signals, ranks, context.
#include "../../../common/kernels/arguments.hpp"
#include "../../../common/kernels/ranks.hpp"
#include "../shape.hpp"

using namespace pto;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    __gm__ int32_t *choices = folders::At<int32_t>(args[0]);
    __gm__ int32_t *places = folders::At<int32_t>(args[1]);
    __gm__ float *gates = folders::At<float>(args[2]);
    __gm__ float *computed = folders::At<float>(args[3]);
    __gm__ float *y = folders::At<float>(args[4]);
    folders::Ranks ranks(args[5], args[6], args[7]);

    ranks.Barrier(); // the experts of all ranks have computed
    folders::RowTile sum(WIDTH), one(WIDTH);
    TASSIGN(sum, 0x0);
    TASSIGN(one, 0x4000);
    for (int token = 0; token < TOKENS; token++) {
        TEXPANDS(sum, 0.0f);
        for (int i = token * CHOICES; i < (token + 1) * CHOICES; i++) {
            int expert = choices[i];
            __gm__ float *row = computed + (expert % EXPERTS * ROWS + places[i]) * WIDTH;
            folders::Row from(ranks.There(row, expert / EXPERTS), WIDTH);
            TLOAD(one, from);
            folders::Order(PIPE_MTE2, PIPE_V);
            TAXPY(sum, one, gates[i]);
            folders::Order(PIPE_V, PIPE_MTE2);
        }
        folders::Order(PIPE_V, PIPE_MTE3);
        folders::Row to(y + token * WIDTH, WIDTH);
        TSTORE(to, sum);
        pipe_barrier(PIPE_ALL);
    }
    // The next run computes only behind its dispatch, whose barrier waits for this.
}
