#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# `tern example run --hosts`: folders of examples/folders whose ranks are on two machines, and what
# is wrong with hosts, kernels and ranks there. TERN_TEST_LONG=1: all folders on all runtimes.
source "$(dirname "$0")/../support/shell.sh"
export TERN_TIMEOUT=60 XDG_CACHE_HOME=$dir/cache PYTHONDONTWRITEBYTECODE=1
folders=$root/examples/folders

python=${TERN_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || {
    echo "example_hosts.sh: no Python with NumPy: apt-get install python3-numpy"
    exit 77
}
unset TERN_COMMAND TERN_ISA_CHECK
printf '#!/bin/sh\nexec g++ "$@" -O0\n' >g++-O0
printf '#!/bin/sh\nshift\nexec "$@"\n' >agent
chmod +x g++-O0 agent
export CXX=$dir/g++-O0
mkdir work
cd work

# run_on HOSTS FOLDER RUNTIME [WORDS...]: the folder is below $folders.
run_on() {
    local hosts=$1 folder=$2 golden=${2%%/*} runtime=$3
    shift 3
    EXAMPLE_RUNTIME=$runtime timeout 100 "$tern" example run -k "$folders/$folder" \
        -g "$folders/$golden/golden.py" --hosts "$hosts" --agent "$dir/agent" "$@"
}

# verified HOSTS RANKS FOLDER RUNTIME
verified() {
    run_on "$1" "$3" "$4" --rounds 2 >said 2>&1 || die "$3, $4 on $1: $(tail said)"
    grep -qx 'TEST PASSED' said || die "$3, $4 on $1: $(tail said)"
    [ "$(grep -o '^VERIFY [PS][^:]*: rank [0-9]*' said | sort -u | wc -l)" -eq "$2" ] ||
        die "$3, $4 on $1: not all of $2 ranks are looked at: $(grep ^VERIFY said)"
    rm said
    [ -z "$(ls -A)" ] || die "$3: left behind: $(ls -A)"
}

verified a:2,b:2 4 allreduce/onephase host_build_graph
verified a:1,b:2 3 treduce_distributed/aicpu_build_graph aicpu_build_graph
verified a:1,b:1,c:1 3 ep_dispatch_combine tensormap_and_ringbuffer
verified a:2,b:1 3 deferred_notify host_build_graph
verified a:1,b:1 2 ffn_tp tensormap_and_ringbuffer
if [ -n "${TERN_TEST_LONG:-}" ]; then
    for runtime in host_build_graph aicpu_build_graph tensormap_and_ringbuffer; do
        for folder in "treduce_distributed/$runtime" allreduce/{onephase,twophase,ring} \
            allreduce/bidirectional_ring all_gather reduce_scatter broadcast all_to_all ffn_tp \
            ep_dispatch_combine; do
            verified a:2,b:2 4 "$folder" "$runtime"
            verified a:1,b:2 3 "$folder" "$runtime"
            verified a:1,b:3,c:1,d:3 8 "$folder" "$runtime"
        done
    done
fi

# What is wrong with hosts.
wrong() {
    expect "$1" "$2" run_on "$3" allreduce/onephase host_build_graph "${@:4}"
}
wrong 2 "',a' is no list of hosts, as a:2,b:2 is" ,a
wrong 2 "'a:0' is no list of hosts" a:0
wrong 2 "'a:60,b:5' are 65 ranks; there are at most 64" a:60,b:5
wrong 2 '--hosts a:2,b:2 are 4 ranks, not 3' a:2,b:2 --nranks 3
wrong 1 "cannot start host a (rank 0): its agent ended with status 3: no route" a,b \
    --agent "sh -c '[ \$0 = a ] || exec sleep 60; echo no route >&2; exit 3'"
expect 2 '--agent is for --hosts' "$tern" example run -k "$folders/allreduce/onephase" \
    -g "$folders/allreduce/golden.py" --agent x
expect 1 'it runs on 1 rank and not on 2' run_on a:1,b:1 vector_example host_build_graph
# A host that does not see the folder: its launcher has other eyes.
printf '#!/bin/sh\n[ "$1" = a ] || cd /proc\nshift\nexec "$@"\n' >"$dir/agent"
verified a:1,b:1 2 allreduce/onephase host_build_graph # the working folder travels

# What is wrong with kernels: pointers do not lead to another machine, and a rank that dies there.
cp -r "$folders" "$dir/folders"
folders=$dir/folders
kernel=$folders/allreduce/kernels/aiv/onephase.cpp
cp "$kernel" "$dir/right.cpp"
broken() {
    sed "s/^    ranks.Barrier(); .*/    $1/" "$dir/right.cpp" >"$kernel"
}
broken 'args[1] = *(volatile int *)ranks.There(shared, ranks.count - 1);'
expect 1 "which is on machine b: put, get and notify reach it" \
    run_on a:1,b:1 allreduce/onephase host_build_graph
broken 'if (ranks.rank == 2) __builtin_trap();'
expect 1 'rank 2 (on b) was killed by signal 4 (Illegal instruction)' \
    run_on a:2,b:2 allreduce/onephase host_build_graph
grep -q '^Rank 2: FAILED (exit code 132)' said || die "$(cat said)"
broken ''
expect 0 'TEST PASSED' run_on a:2,b:2 allreduce/onephase host_build_graph
rm said
[ -z "$(ls -A)" ] || die "left behind: $(ls -A)"
