#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# The patterns of kernels, in C and through the PTO face: every number of ranks, the sums exact; the
# fused one also with 384 blocks on this machine, and with each of its kernels launched first.
source "$(dirname "$0")/../support/shell.sh"
bin=$build/bin
for n in 2 3 4 8; do
    for pattern in p2p reduce all_reduce; do
        for program in "pattern_$pattern" "pattern_${pattern}_c"; do
            expect 0 "$program, $n ranks: " "$tern" run -n "$n" "$bin/$program"
            grep -q ": verified$" said || die "$program with $n ranks: $(cat said)"
        done
    done
done

gemm() {
    local ranks=$1 program=pattern_gemm_all_reduce$2
    shift 2
    expect 0 "$program, $ranks ranks: GEMM and AllReduce: verified" \
        "$tern" run -n "$ranks" "$bin/$program" --runs 1 "$@"
    grep -qE "speed-up [0-9.]+, overlap efficiency" said || die "no figures: $(cat said)"
}
for language in "" _c; do
    # Tiles that are cut off, ranks without a tile, and blocks without one.
    gemm 2 "$language" --m 300 --k 300 --n 300
    gemm 3 "$language" --m 333 --k 65 --n 257 --blocks-compute 5 --blocks-comm 2
    gemm 4 "$language" --m 129 --k 1 --n 1 --blocks-compute 1 --blocks-comm 3
    gemm 8 "$language" --m 100 --k 40 --n 100 --blocks-compute 2 --blocks-comm 9
    gemm 2 "$language" --m 300 --k 300 --n 300 --compute-first
    gemm 8 "$language" --m 700 --k 200 --n 700 --blocks-compute 24 --blocks-comm 24
done
gemm 2 "" --m 200 --k 64 --n 200 --patience 1 # then a block waits for what is only stored

for pattern in all_reduce all_reduce_c gemm_all_reduce; do
    expect 1 "there are signals for 8 ranks, not for 9" "$tern" run -n 9 "$bin/pattern_$pattern"
done
expect 1 "compiled for 1 to 8 ranks, not for 9" "$tern" run -n 9 "$bin/pattern_reduce"
gemm=$bin/pattern_gemm_all_reduce
expect 2 "'--m' needs a number from 1 to 32768, not '0'" "$tern" run -n 2 "$gemm" --m 0
expect 2 "'--runs' needs a value" "$tern" run -n 2 "$gemm" --runs
expect 2 "'--fast' is no option" "$tern" run -n 2 "$gemm" --fast
expect 0 "--published" "$tern" run -n 2 "$gemm" --help
echo "patterns run"
