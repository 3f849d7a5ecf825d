#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 600
# All folders of examples/folders by `tern example run`, for each runtime and several numbers of
# ranks, and in checking mode; and each with a kernel and with a golden that is wrong in one line: it
# fails and says where.
source "$(dirname "$0")/../support/shell.sh"
export TERN_TIMEOUT=60 XDG_CACHE_HOME=$dir/cache
folders=$root/examples/folders kernels=$root/examples/folders

python=${TERN_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || {
    echo "example_folders.sh: no Python with NumPy: apt-get install python3-numpy"
    exit 77
}
export PYTHONDONTWRITEBYTECODE=1
unset TERN_COMMAND TERN_ISA_CHECK

# Compiling is what costs; what these kernels compute is little.
printf '#!/bin/sh\nexec g++ "$@" -O0 %s\n' "$quick_link" >g++-O0
chmod +x g++-O0
export CXX=$dir/g++-O0

runtimes=(host_build_graph aicpu_build_graph tensormap_and_ringbuffer)
several=(treduce_distributed allreduce/{onephase,twophase,ring,bidirectional_ring} all_gather
    reduce_scatter broadcast all_to_all ffn_tp ep_dispatch_combine)
single=(vector_example scalar_example bgemm)
own_single=mixed_ffn # a single chip, of one runtime
# Of one runtime, which the folder names itself: run where host_build_graph is asked for.
folders_of() {
    echo "${several[@]}"
    [ "$1" != host_build_graph ] || echo deferred_notify async_notify_demo
}
for_two=allreduce/ibing # ranks, no more

# RESULT GOLDENS FOLDER RUNTIME OPTIONS...: a line that says how a folder is run, with the golden of
# which tree, and under which name what it prints and its exit status are kept.
job() {
    local result=$1 goldens=$2 folder=$3 runtime=$4
    local golden=${folder%%/*} options=${*:5}
    [ "$folder" != treduce_distributed ] || folder+=/$runtime
    echo "$result $runtime -k $kernels/$folder -g $goldens/$golden/golden.py${options:+ $options}"
}
by_command() {
    tern=$tern xargs -P 2 -L 1 bash -c 'result=$0
        EXAMPLE_RUNTIME=$1 "$tern" example run "${@:2}" >"said.$result" 2>&1
        echo $? >"status.$result"'
}
# As the command, but Python starts and reads NumPy once for all.
in_one_go() {
    cat >all.py <<'EOF'
import os
import sys

import numpy  # which main reads when it needs it: here once, before all forks

from tern.example.runner import main

running = 0
for line in sys.stdin:
    result, runtime, *words = line.split()
    if running == 2:
        os.wait()
        running -= 1
    if os.fork() == 0:
        for to in (1, 2):
            os.dup2(os.open(f"said.{result}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), to)
        os.environ["EXAMPLE_RUNTIME"] = runtime
        status = main(words)
        sys.stdout.flush()
        with open(f"status.{result}", "w") as file:
            print(status, file=file)
        os._exit(0)
    running += 1
while running > 0:
    os.wait()
    running -= 1
EOF
    TERN_COMMAND=$tern PYTHONPATH=$root/python "$python" all.py
}
name_of() {
    tr / . <<<"$1"
}

# RUNTIME...: one run for each folder compiles everything; the others find it in the cache.
first_jobs() {
    local runtime folder
    for runtime in "$@"; do
        for folder in $(folders_of "$runtime"); do
            job "$(name_of "$folder").$runtime.2" "$folders" "$folder" "$runtime" --nranks 2
        done
        job "ibing.$runtime" "$folders" $for_two "$runtime" --rounds 3
        for folder in "${single[@]}"; do
            # bgemm has no cases.
            job "$folder.$runtime" "$folders" "$folder" "$runtime" \
                "$([ "$folder" = bgemm ] || echo --all)" --rounds 2
        done
        [ "$runtime" != host_build_graph ] || job $own_single "$folders" $own_single "$runtime" --rounds 3
    done
}
# All numbers on one runtime: what odd ones and many ranks may break is in kernels, which are the same
# for all. TERN_TEST_LONG=1: the even ones on the others, too.
ranks_of() {
    [ "$1" = host_build_graph ] && echo 2 3 4 5 8 16 ||
        echo 2 ${TERN_TEST_LONG:+4} 8 ${TERN_TEST_LONG:+16}
}
other_jobs() {
    local runtime folder ranks
    for runtime in "${runtimes[@]}"; do
        for folder in $(folders_of "$runtime"); do
            for ranks in $(ranks_of "$runtime"); do
                [ "$ranks" != 2 ] || continue
                job "$(name_of "$folder").$runtime.$ranks" "$folders" "$folder" "$runtime" \
                    --nranks "$ranks" --rounds $((ranks % 2 == 0 ? 1 : 3))
            done
        done
    done
}
passes() {
    [ "$(cat "status.$1")" = 0 ] && grep -qx 'TEST PASSED' "said.$1" ||
        die "$1: exit status $(cat "status.$1"): $(tail -n 20 "said.$1")"
}
# RESULT RANKS: so many ranks are verified.
verified() {
    passes "$1"
    [ "$(grep -o '^VERIFY PASSED: rank [0-9]*' "said.$1" | sort -u | wc -l)" -eq "$2" ] ||
        die "$1: verified are not all $2 ranks: $(grep ^VERIFY "said.$1")"
}
all_pass() {
    local runtime folder ranks
    first_jobs "${runtimes[0]}" | by_command
    first_jobs "${runtimes[@]:1}" | in_one_go
    other_jobs | in_one_go
    passes $own_single
    for runtime in "${runtimes[@]}"; do
        verified "ibing.$runtime" 2
        for folder in "${single[@]}"; do
            passes "$folder.$runtime"
        done
        for ranks in $(ranks_of "$runtime"); do
            for folder in $(folders_of "$runtime"); do
                [ "$folder" = treduce_distributed ] ||
                    verified "$(name_of "$folder").$runtime.$ranks" "$ranks"
            done
            verified "treduce_distributed.$runtime.$ranks" 1 # the root
        done
    done
    grep -qxF '  Sample: [12000.0, 12016.0, 12032.0, 12048.0, 12064.0]' \
        said.treduce_distributed.host_build_graph.16 || die "the sum of 16 ranks"
}

ibing_is_for_two() {
    job ibing.4 "$folders" $for_two host_build_graph --nranks 4 | by_command
    [ "$(cat status.ibing.4)" = 1 ] &&
        grep -q "line [0-9]*: it raises ValueError: ibing is for 2 ranks, not 4" said.ibing.4 ||
        die "ibing with 4 ranks: $(cat said.ibing.4)"
}

# The first block of docs/example-runner.md, but for times and what the cache has.
page_is_true() {
    local page=$root/docs/example-runner.md line folder=examples/folders/allreduce
    local mask='s/[0-9.]* s  /S  /; s/, [0-9]* from the cache//'
    local command="tern example run -k $folder/onephase -g $folder/golden.py --nranks 4"
    sed "$mask" said.allreduce.onephase.host_build_graph.4 >masked
    [ "$(grep -m 1 '^\$ tern example run' "$page")" = "\$ $command" ] ||
        die "the page runs another folder"
    sed '1,/^\$ tern example run/d; /^```$/,$d' "$page" | sed "$mask" >shown
    [ "$(tail -1 shown)" = "TEST PASSED" ] || die "the page has no output"
    while IFS= read -r line; do
        [ "$line" = ... ] || grep -qxF -- "$line" masked || die "example-runner.md shows '$line'"
    done <shown
}

# FOLDER|FILE|WHAT SED DOES|WHERE|WHAT: three ranks (two of ibing) then say VERIFY FAILED: WHERE mismatches, and WHAT.
wrong_kernels=(
    'treduce_distributed|kernels/aiv/treduce.cpp|s/ReduceOp::Sum/ReduceOp::Max/|rank 0 output — 256/256|rank 0 output[0]: got 200.0, expected 300.0'
    'allreduce/onephase|kernels/aiv/onephase.cpp|s/ranks.count, input_of/ranks.count - 1, input_of/|rank 2 output — 256/256|rank 2 output[1]: got 102.0, expected 303.0'
    'allreduce/twophase|kernels/aiv/twophase.cpp|s/ranks.count, input_of/1, input_of/|rank 1 output — 256/256|rank 1 output[2]: got 2.0, expected 306.0'
    'allreduce/ring|kernels/aiv/ring.cpp|s/step < ranks.count - 1/step < ranks.count - 2/|rank 1 output — 80/256|rank 1 output[0]: got 100.0, expected 300.0'
    'allreduce/bidirectional_ring|kernels/aiv/bidirectional_ring.cpp|s/Push<AtomicType::AtomicAdd>/Push<AtomicType::AtomicNone>/|rank 0 output — 256/256|rank 0 output[0]: got 0.0, expected 300.0'
    'allreduce/ibing|kernels/aiv/ibing.cpp|s/TPUT<atomic>/TPUT<AtomicType::AtomicNone>/|rank 0 output — 255/256|rank 0 output[1]: got 101.0, expected 102.0'
    'all_gather|kernels/aiv/all_gather.cpp|s/There(shared, rank)/There(shared, ranks.rank)/|rank 1 output — 128/192|rank 1 output[0]: got 100.0, expected 0.0'
    'reduce_scatter|kernels/aiv/reduce_scatter.cpp|s/shared + ranks.rank \* count/shared/|rank 1 output — 64/64|rank 1 output[0]: got 300.0, expected 492.0'
    'broadcast|kernels/aiv/broadcast.cpp|s/There(shared, root)/There(shared, ranks.rank)/|rank 0 output — 256/256|rank 0 output[2]: got 0.0, expected 102.0'
    'all_to_all|kernels/aiv/all_to_all.cpp|s/input + rank \* count/input/|rank 1 output — 192/192|rank 1 output[0]: got 0.0, expected 100.0'
    'ffn_tp|kernels/aiv/sum.cpp|s/ranks.count, slot_of/ranks.count - 1, slot_of/|rank 0 y — 4096/4096|rank 0 y[0]: got '
    'ep_dispatch_combine|kernels/aiv/dispatch.cpp|s/next\[expert\]++/next[expert]/|rank 2 received — 1890/8192|rank 2 received[0]: got -3.0, expected 4.0'
    'deferred_notify|kernels/mail.hpp|s/+ distance + ranks_/+ ranks_ - distance/|rank 0 result — 4096/4096|rank 0 result[0]: got 3.0, expected 2.0'
    'async_notify_demo|kernels/aiv/produce.cpp|s/next), 1,/next), 2,/|rank 0 result — 16384/16384|rank 0 result[0]: got 2.0, expected 1.0'
    'vector_example|kernels/aiv/mul.cpp|s/TMUL/TADD/||f[0]: got 13.0, expected 42.0'
    'bgemm|kernels/orchestration/host_build_graph.cpp|s/tile(1, k, n)/tile(1, n, k)/||C[0]: got -10.5, expected 31.75'
    'scalar_example|kernels/aiv/scale.cpp|s/TADDS/TSUBS/||out[0]: got -3.0, expected 3.0'
    'mixed_ffn|kernels/mix/ffn.cpp|s/TRELU(positive, half)/TABS(positive, half)/||y[0]: got -308.0, expected -156.0'
)
wrong_goldens=(
    'treduce_distributed|golden.py|s/50 \* n/51 * n/|rank 0 output — 256/256|rank 0 output[0]: got 300.0, expected 306.0'
    'all_gather|golden.py|s/float(i + 100 \* rank) for rank/float(i + 101 * rank) for rank/|rank 1 output — 128/192|rank 1 output[64]: got 100.0, expected 101.0'
    'reduce_scatter|golden.py|s/rank \* COUNT + i/COUNT + i/|rank 0 output — 64/64|rank 0 output[0]: got 300.0, expected 492.0'
    'broadcast|golden.py|s/100 \* params\["root"\]/50/|rank 0 output — 256/256|rank 0 output[0]: got 100.0, expected 50.0'
    'all_to_all|golden.py|s/1000 \* s + 100 \* rank/1000 * s + 100/|rank 0 output — 192/192|rank 0 output[0]: got 0.0, expected 100.0'
    'ffn_tp|golden.py|s/x.astype(np.float64) @/x.astype(np.float64).T @/|rank 2 y — 4095/4096|rank 2 y[0]: got '
    'ep_dispatch_combine|golden.py|s/y\[token\] += gate/y[token] += 2 * gate/|rank 1 y — 1024/1024|rank 1 y[0]: got 1.5, expected 3.0'
    'deferred_notify|golden.py|s/+ 1) %/+ 2) %/|rank 1 result — 4096/4096|rank 1 result[0]: got 3.0, expected 1.0'
    'async_notify_demo|golden.py|s/number + 1 for/number + 2 for/|rank 1 result — 16384/16384|rank 1 result[0]: got 201.0, expected 202.0'
    'vector_example|golden.py|s/(c + 1)/(c + 3)/||f[0]: got 42.0, expected 56.0'
    'bgemm|golden.py|s/@ whole(tensors\["B"\])/@ whole(tensors["B"]).T/||C[0]: got 31.75, expected 1.5'
    'scalar_example|golden.py|s/+ params\["shift"\]/- params["shift"]/||out[0]: got 3.0, expected -3.0'
    'mixed_ffn|golden.py|s/np.maximum(x @ w1, 0)/np.maximum(x @ w1, 1)/||y[0]: got -156.0, expected -308.0'
)
# TREE LINE...: a copy of the folders that has these changes. $kernels says whose kernels run. What
# is not changed is a link, so orchestrations that configs look for beside themselves come from the
# cache; a config whose orchestration changes is a file.
fail_and_say_where() {
    local tree=$1 line folder file change where what result
    shift
    cp -rs "$folders" "$tree"
    for line in "$@"; do
        IFS='|' read -r folder file change where what <<<"$line"
        file=${folder%%/*}/$file
        sed -i "$change" "$tree/$file" # the link becomes a file
        [[ $file != */orchestration/* ]] ||
            cp --remove-destination {"$folders","$tree"}"/$folder/kernel_config.py"
        ! cmp -s "$folders/$file" "$tree/$file" || die "$folder: '$change' changes nothing"
        job "$tree.$(name_of "$folder")" "$dir/$tree" "$folder" host_build_graph \
            "$([ -z "$where" ] || [ "$folder" = $for_two ] || echo --nranks 3)"
    done >jobs
    in_one_go <jobs
    for line in "$@"; do
        IFS='|' read -r folder file change where what <<<"$line"
        result=$tree.$(name_of "$folder")
        [ "$(cat "status.$result")" = 1 ] || die "$result: exit status $(cat "status.$result")"
        for line in "  $what" "${where:+VERIFY FAILED: $where}" 'TEST FAILED'; do
            grep -qF -- "$line" "said.$result" ||
                die "$result does not say '$line': $(grep -v OK "said.$result")"
        done
    done
}

checked_jobs() {
    local folder
    for folder in $(folders_of host_build_graph); do
        job "checked.$(name_of "$folder")" "$folders" "$folder" host_build_graph --nranks 3 --rounds 2
    done
    job checked.ibing "$folders" $for_two host_build_graph --rounds 2
    for folder in "${single[@]}" $own_single; do
        job "checked.$folder" "$folders" "$folder" host_build_graph
    done
}
nothing_works_by_luck() {
    local folder
    checked_jobs | TERN_ISA_CHECK=1 in_one_go
    for folder in $(folders_of host_build_graph) "${single[@]}" $own_single; do
        passes "checked.$(name_of "$folder")"
    done
    verified checked.ibing 2
    cp -r "$folders" unordered
    sed -i '0,/ranks.Barrier();/s///' unordered/allreduce/kernels/aiv/onephase.cpp
    kernels=$dir/unordered
    job unordered "$folders" allreduce/onephase host_build_graph --nranks 3 |
        TERN_ISA_CHECK=1 CXX="$CXX -g" by_command
    kernels=$folders
    [ "$(cat status.unordered)" = 1 ] &&
        grep -q "tern check: rows.hpp:[0-9]*: kernel 'onephase', .*TLOAD" said.unordered ||
        die "without a barrier: $(cut -c 1-300 said.unordered)"
}

all_pass
ibing_is_for_two
page_is_true
nothing_works_by_luck
echo "example_folders.sh: all pass, in $SECONDS s"
fail_and_say_where wrong_goldens "${wrong_goldens[@]}"
kernels=$dir/wrong_kernels
fail_and_say_where wrong_kernels "${wrong_kernels[@]}"
echo "example_folders.sh: all done in $SECONDS s"
