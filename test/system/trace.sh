#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# tern run --trace: programs that know nothing of it, ranks that die, leave, fork or are no ranks; what the
# file holds is read by test/support/trace_check.py, as are the traces of tern exec.
source "$(dirname "$0")/../support/shell.sh"
holds() {
    python3 "$root/test/support/trace_check.py" "$@"
}

# Calls, by a program of ours that knows nothing of traces.
expect 0 "" "$tern" run -n 3 --trace perf.json "$tern" perf all --sizes 8,100K -n 2 -w 1
grep -q "trace" said && die "a trace that lacks nothing is talked about: $(cat said)"
holds perf.json 3 \
    "{e['name'].split(' #')[0] for e in calls} >= {'all_reduce', 'all_to_all', 'barrier', 'recv'}" \
    "all(e['args']['algorithm'] and e['args']['way'] in ('slot', 'window', 'staged') \
for e in calls if e['args'].get('way') != 'mail')" \
    "{(rank(a), rank(b)) for a, b in arrows} == {(i, j) for i in range(3) for j in range(3) if i != j}" \
    "{b['name'].split(' #')[0] for a, b in arrows} >= {'all have come', 'take piece', 'tern_comm_barrier'}" \
    "max(e['ts'] for e in X) - min(e['ts'] for e in X) < 300e6"

# Graphs on chips: tasks have arrows from those who notified.
expect 0 "verified" "$tern" run -n 2 --trace ffn.json "$build/bin/tp_ffn" --tokens 64 \
    --hidden 64 --intermediate 128 --rounds 2
holds ffn.json 2 "{e['cat'] for e in X} >= {'task', 'notify', 'barrier'}" \
    "{rank(e) for e in named('tern_chip_synchronize') if e['cat'] == 'wait'} == {0, 1}" \
    "any(a['cat'] == 'notify' and b['cat'] == 'task' for a, b in arrows)"

# A plan.
"$tern" plan all_reduce --topo mesh:4 --bytes 64K --algo ring >ring.plan
expect 0 "right on all ranks" "$tern" exec ring.plan -n 4 --runs 3 --trace ring.json
holds ring.json 4 "len(named('plan of all_reduce #3')) == 4 and \
all(e['args']['algorithm'] == 'ring' for e in named('plan of all_reduce #3'))" \
    "{(rank(a), rank(b)) for a, b in arrows if a['name'] == 'post'} == {(0, 1), (1, 2), (2, 3), (3, 0)}" \
    "sum(a['name'] == 'post' for a, b in arrows) == len(named('signal')) == len(named('post'))"

# Ranks that end in other ways: what they have recorded is there, and that of the others.
cc -O1 -I"$root/include" "$root/test/system/trace_odd.c" -o odd -L"$build/lib" -ltern -Wl,-rpath,"$build/lib"
six="[rank(e) for e in named('all_reduce #5')] == [0, 1, 2]"
expect 0 "" "$tern" run -n 3 --trace odd.json ./odd begin
holds odd.json 3 "[rank(e) for e in named('all_reduce #6')] == [0, 1, 2]"
expect 0 "" "$tern" run -n 3 --trace odd.json ./odd again
holds odd.json 3 "$six"
expect 137 "rank 1 was killed" "$tern" run -n 3 --trace odd.json ./odd kill
holds odd.json 3 "$six" "[e['args']['labels'] for e in E if e['name'] == 'process_labels' and \
rank(e) == 1] == ['killed by signal 9']"
expect 1 "rank 1 ended without" "$tern" run -n 3 --trace odd.json ./odd exit
holds odd.json 3 "$six"
expect 124 "timeout" "$tern" run -n 2 --trace odd.json --timeout 1 sh -c './odd exit; sleep 100'
holds odd.json 2 "len(named('all_reduce #5')) == 2"

# Programs of HCCL meet by a root info, and may start to profile before that.
expect 0 "14 calls of HCCL" env TMPDIR="$dir" "$tern" run -n 3 --trace hccl.json "$build/bin/hccl_host"
holds hccl.json 3 "{e['name'].split(' #')[0] for e in calls} >= {'all_reduce', 'broadcast', 'all_gather'}" \
    "{rank(e) for e in calls} == {0, 1, 2}" "{(rank(a), rank(b)) for a, b in arrows} >= {(0, 1), (1, 2), (2, 0)}"
cat >profile.c <<'EOF'
#include <stdio.h>
#include "acl/acl.h"
#include "acl/acl_prof.h"
static void add(void *sum)
{
    ++*(int *)sum;
}
int main(void)
{
    uint32_t device = 0, sum = 0;
    aclrtStream stream;
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME);
    aclError error = aclprofStart(config);
    if (aclrtCreateStream(&stream) != 0 || aclrtLaunchHostFunc(stream, add, &sum) != 0 ||
        aclrtSynchronizeStream(stream) != 0 || sum != 1) {
        return 2;
    }
    printf("started with %d, stopped with %d\n", error, aclprofStop(config));
    return 0;
}
EOF
cc -I"$root/include" -I"$root/include/faces" profile.c -o profile -L"$build/lib" -ltern -Wl,-rpath,"$build/lib"
expect 0 "started with 0, stopped with 0" "$tern" run -n 1 --trace profile.json ./profile
holds profile.json 1 "named('aclrtLaunchHostFunc')"
expect 0 "started with 200006, stopped with 200006" "$tern" run -n 1 ./profile
expect 0 "started with 200006, stopped with 200006" env TERN_TRACE_FD=0 ./profile

# More than is kept: how many is said, here and in the file.
expect 0 "the trace lacks the last" "$tern" run -n 2 --trace odd.json ./odd much
holds odd.json 2 "len(named('notify')) > 200000" \
    "[e['args']['lost'] > 1000 for e in E if e.get('cat') == 'lost'] == [True] * 2"

# No ranks, no place, no room.
expect 0 "no rank has called tern_init" "$tern" run -n 2 --trace none.json true
holds none.json 2 "not X"
expect 125 "cannot write none/t.json" "$tern" run -n 2 --trace none/t.json ./odd begin
expect 1 "No space left on device" "$tern" run -n 2 --trace /dev/full ./odd begin
expect 2 "needs a value" "$tern" run --trace
echo "traces hold what they should"
