#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 180
# The programs of task graphs: each verifies what it computed. Every builder, cores few and many,
# shapes of the known cases and odd ones, and what is refused.
source "$(dirname "$0")/../support/shell.sh"
bin=$build/bin
export TERN_TIMEOUT=30

# verified TEXT COMMAND...
verified() {
    local text=$1
    shift
    expect 0 "$text" "$@"
    grep -q ": verified$" said || die "$*: $(cat said)"
}

for builder in host chip tensors; do
    verified "16 sums of 4 products, tiles of 64" "$bin/graph_bgemm" --builder "$builder"
    verified "250 sums of 2 products, tiles of 32" \
        "$bin/graph_bgemm" --builder "$builder" --case benchmark
    verified "builder $builder" "$bin/graph_bgemm" --builder "$builder" --tile 7 --aic 1 --aiv 1
done
verified "" "$bin/graph_bgemm" --tile 128 --aic 4 --aiv 8
verified "3 sums of 2 products, tiles of 5" \
    "$bin/graph_bgemm" --case benchmark --tasks 6 --tile 5 --builder chip

verified "1 products and 1 sums" "$bin/graph_alternating"
verified "12 products and 15 sums" \
    "$bin/graph_alternating" --batch 3 --matmul-tasks 4 --add-tasks 5 --aic 2 --aiv 3
verified "0 products and 2 sums" "$bin/graph_alternating" --matmul-tasks 0 --add-tasks 2

verified "4 iterations of 5 tasks" "$bin/graph_mixed"
verified "20 iterations" "$bin/graph_mixed" --iterations 20 --clusters 1

for batch in 1 4; do
    for head_dim in 16 64; do
        for context in 16 64; do
            verified "$batch requests of $((context / 16)) pages" "$bin/graph_attention" \
                --batch "$batch" --head-dim "$head_dim" --context "$context"
        done
    done
done
verified "2 requests of 5 pages" "$bin/graph_attention" --batch 2 --context 49 --block 10 \
    --heads 3 --head-dim 33 --aiv 1

for n in 1 3 8; do
    verified "experts, 3 rounds" "$tern" run -n "$n" "$bin/graph_experts"
done
verified "" "$tern" run -n 4 "$bin/graph_experts" --tokens 5 --hidden 24 --experts 3 --choices 4 \
    --rounds 10
for hold in deferred wait; do
    verified "held by $hold" "$tern" run -n 2 "$bin/graph_notify" --hold "$hold"
done

expect 2 "'builder' must be one of: host chip tensors, not 'fpga'" "$bin/graph_bgemm" \
    --builder fpga
expect 2 "'tile' needs a number from 1 to 128, not '0'" "$bin/graph_bgemm" --tile 0
expect 2 "'tile' needs a number from 1 to 128, not '1e1'" "$bin/graph_bgemm" --tile 1e1
expect 2 "'--tile' needs a value" "$bin/graph_bgemm" --tile
expect 2 "'--fast' is no option" "$bin/graph_mixed" --fast
expect 2 "'-x' is no option" "$bin/graph_mixed" -x
expect 2 "'five' is no option" "$bin/graph_attention" five
expect 2 "an even number" "$bin/graph_bgemm" --case benchmark --tasks 7
expect 2 "'choices' must not be more than the 2 experts" "$bin/graph_experts" --choices 3
expect 1 "there are signals for 8 ranks, not for 9" "$tern" run -n 9 "$bin/graph_experts"
expect 0 "--context" "$bin/graph_attention" --help
[ "$("$tern" run -n 3 "$bin/graph_notify" --help | grep -c '^usage')" -eq 1 ] ||
    die "--help is not printed once"
echo "graphs run"
