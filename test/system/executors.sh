#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 600
# Executors of HCCL's framework as a person would use them: ours become plans that are proved from
# 4 B to 1 GiB and run right; the large one has the tasks, blocks and bytes that its design says, and
# as many bytes on every link as cut_owners; two that are wrong are refused, with the place.
source "$(dirname "$0")/../support/shell.sh"
folder=$root/examples/executors
mesh=(--topo mesh:8 --cut 0-1)

# Compiled once: what is tested here is not the compiler.
for name in small medium large past_end lost_notify; do
    "${CXX:-g++}" -shared -fPIC -g -I "$root/include" -I "$root/include/faces" "$folder/$name.cc" \
        -L "$build/lib" -ltern -Wl,-rpath,"$build/lib" -o $name.so
done

# What is executed has CCL buffers of little more than it uses: ranks map all of them, 400 MB by default.
record() { # NAME BYTES OPTIONS...
    local name=$1 bytes=$2
    shift 2
    "$tern" plan all_reduce --executor "$dir/$name.so" "${mesh[@]}" --bytes "$bytes" -o "$name.plan" "$@"
}

# Proved at all sizes.
for bytes in 4 1K 100000 1M 10M 1G; do
    for name in small medium large; do
        record $name $bytes
        expect 0 "proved for 8 ranks" "$tern" check $name.plan "${mesh[@]}"
        grep -q 'atomic reduces' said || die "$name: nothing is said about the order of sums"
    done
done

# The golden counts of the large one: blocks of the owners 2 to 7, then tasks of a rank.
blocks() { # what each owner copies to its own CCL_Out; 0 for none
    for rank in 2 3 4 5 6 7; do
        awk -v r=$rank '$1 == "rank" {lane = $2 == r && $4 == 0}
            lane && $1 == "copy" && $NF ~ r".scratch" {sum = $3} END {printf "%d ", sum}' large.plan
    done
}
tasks() { # RANK: copies, reduces, posts, waits
    awk -v r="$1" '$1 == "rank" {own = $2 == r} own {n[$1]++}
        END {printf "%d %d %d %d", n["copy"], n["reduce"], n["post"], n["wait"]}' large.plan
}
golden() { # BYTES BLOCKS TASKS
    record large "$1"
    [ "$(blocks)" = "$2 " ] || die "blocks of $1 bytes: $(blocks)"
    [ "$(grep -cE '^(copy|reduce|post|wait)' large.plan)" -eq "$3" ] ||
        die "$1 bytes: not $3 tasks but $(grep -cE '^(copy|reduce|post|wait)' large.plan)"
}
golden 4 "4 0 0 0 0 0" 874
golden 1K "1024 0 0 0 0 0" 874
golden 100000 "32768 32768 32768 1696 0 0" 880
golden 10M "1753088 1753088 1753088 1753088 1753088 1720320" 884
golden 1G "178962432 178962432 178962432 178962432 178962432 178929664" 884
golden 1M "180224 180224 180224 180224 180224 147456" 884
for rank in 0 1 2 3 4 5 6 7; do
    [ "$(tasks $rank)" = "$([ $rank -lt 2 ] && echo 8 6 40 40 || echo 7 5 52 52)" ] ||
        die "tasks of rank $rank: $(tasks $rank)"
done

# Executed, bit for bit; in chunks, too. A third of all bytes on each healthy link, as cut_owners.
for name in small medium large; do
    for bytes in 4 100000 1M 10M; do
        record $name $bytes --ccl-bytes 1000000
        expect 0 "right on all ranks" "$tern" exec $name.plan -n 8 --runs 2 --dtype f32
    done
done
record large 64M --ccl-bytes 12M
expect 0 "right on all ranks" "$tern" exec large.plan -n 8 --runs 1 --dtype f32
for bytes in 6M 1G; do
    record large $bytes --summary >recorded
    "$tern" plan all_reduce --algo cut_owners "${mesh[@]}" --bytes $bytes --summary -o owners.plan >own
    busiest=$(grep -E '^(busiest|mean)' recorded)
    [ "$busiest" = "$(grep -E '^(busiest|mean)' own)" ] ||
        die "$bytes: recorded $busiest, cut_owners $(cat own)"
done
record large 6M --ccl-bytes 2M
"$tern" plan all_reduce --algo cut_owners "${mesh[@]}" --bytes 6M -o owners.plan
for plan in large owners; do
    "$tern" exec $plan.plan -n 8 --runs 5 --dtype f32 >$plan.ran || die "$plan: $(cat $plan.ran)"
    sed -n 2p $plan.ran # the times, side by side
    grep '^link ' $plan.ran >$plan.links
done
cmp large.links owners.links || die "the recorded plan has other bytes on the links"
grep -q '^link *2>3 2097152 ' large.links || die "2>3 does not carry a third"
! grep -qE '^link *(0>1|1>0) ' large.links || die "the cut link is used"

# Fused: proved, in rank order, also in place and in chunks, with the same bytes on the links and no
# scratch; what has no such sum, and what is wrong, stays as it is.
record large 6M --fuse
expect 0 "sums in rank order, rounded once" "$tern" check --in-place large.plan "${mesh[@]}"
! grep -qE '^scratch|atomic' large.plan || die "the fused plan has scratch or atomic reduces"
[ "$(grep -cE '^(post|wait)' large.plan)" -eq 50 ] || die "the fused plan has other posts and waits"
expect 0 "right on all ranks" "$tern" exec large.plan -n 8 --runs 2 --dtype f32
grep '^link ' said >fused.links
cmp fused.links owners.links || die "the fused plan has other bytes on the links"
record large 10M --ccl-bytes 1000000 --fuse
expect 0 "right on all ranks" "$tern" exec large.plan -n 8 --runs 1 --dtype f32
record large 6M
record medium 100000 --ccl-bytes 1M
cp medium.plan whole.plan
record medium 100000 --ccl-bytes 1M --fuse
[ "$(grep -c ^reduce medium.plan)" = "$(grep -c ^reduce whole.plan)" ] || die "a medium plan was fused"
[ "$(grep -cE '^(post|wait)' medium.plan)" -lt 312 ] || die "a medium plan keeps its 624 posts and waits"
expect 0 "right on all ranks" "$tern" exec medium.plan -n 8 --runs 2 --dtype f32
sed 's/^wait @0 signal 0 count 1$/wait @0 signal 1 count 1/' whole.plan >wrong.plan
expect 1 "tern plan: --fuse: the plan is not right" "$tern" plan all_reduce --from wrong.plan --fuse

# Other numbers of ranks, and CCL buffers that are no multiple of anything.
for n in 4 5 7; do
    for name in small medium large; do
        "$tern" plan all_reduce --executor "$dir/$name.so" --topo mesh:$n --cut 0-1 --bytes 300000 \
            --ccl-bytes 50004 -o n.plan
        expect 0 "proved for $n ranks" "$tern" check n.plan --topo mesh:$n --cut 0-1
        expect 0 "right on all ranks" "$tern" exec n.plan -n $n --runs 2 --dtype f32
    done
done

# Wrong on purpose, and wrong by use.
expect 1 "lost_notify.cc:" record lost_notify 1M
grep -q 'lost notify: DataSignal from rank . at rank .: the post at' said || die "$(cat said)"
record past_end 6000000 --ccl-bytes 1M
expect 1 "CCL_Out of rank 2, which has 1000000: 15808 bytes past its end" \
    record past_end 6000000 --ccl-bytes 1000000
expect 1 "rank 2: stream 1: a post needs a link that is missing: rank 2 has no link to rank 3" \
    "$tern" plan all_reduce --executor "$dir/large.so" --topo mesh:8 --cut 2-3 --bytes 1M
expect 1 "returned 5: 2 ranks leave none that is healthy" \
    "$tern" plan all_reduce --executor "$dir/large.so" --topo mesh:2 --bytes 1M
expect 1 "no executor 'Mine', but 'AllReduceLarge'" record large 1M --executor-name Mine
expect 2 "--ccl-bytes takes a number" record large 1M --ccl-bytes 0
expect 2 "go with --executor" "$tern" plan all_reduce "${mesh[@]}" --bytes 1M --ccl-bytes 5
expect 1 "cannot be read" "$tern" plan all_reduce --executor no.cc "${mesh[@]}" --bytes 1M

# Sources: compiled here; what throws, what does not compile, what is none.
cat >throws.cc <<'END'
#include "coll_comm_executor.h"
#include <stdexcept>
namespace hccl {
class Throws : public CollCommExecutor {
public:
    using CollCommExecutor::CollCommExecutor;

private:
    HcclResult Orchestrate(OpParam &, AlgResourceResponse &) override
    {
        throw std::runtime_error("not today");
    }
};
REGISTER_EXEC("Throws", ThrowsExecutor, Throws);
REGISTER_EXEC("Throws", ThrowsTwice, Throws);
} // namespace hccl
END
echo 'int main(' >broken.cc
echo 'int one = 1;' >nothing.cc
expect 1 "it threw an exception: 'not today'" \
    "$tern" plan all_reduce --executor throws.cc "${mesh[@]}" --bytes 1M
expect 1 "'broken.cc' does not compile" \
    "$tern" plan all_reduce --executor broken.cc "${mesh[@]}" --bytes 1M
expect 1 "tern plan: nothing.cc registers no executor; it needs REGISTER_EXEC" \
    "$tern" plan all_reduce --executor nothing.cc "${mesh[@]}" --bytes 1M
expect 0 "" "$tern" plan all_reduce --executor "$folder/large.cc" "${mesh[@]}" --bytes 6M -o compiled.plan
cmp compiled.plan large.plan || die "the source and the shared object have different plans"

# Who ends the command while it records leaves nothing behind.
mkdir left
sed 's/throw.*/HCCL_RUN_INFO("it begins"); for (;;) {}/' throws.cc >loops.cc
for signal in INT TERM; do
    env --default-signal=INT,TERM TMPDIR=$PWD/left TERN_LOG=info "$tern" plan all_reduce \
        --executor loops.cc "${mesh[@]}" --bytes 1M >ended 2>&1 &
    until grep -q 'it begins' ended; do
        kill -0 $! || die "it has ended: $(cat ended)"
        sleep 0.05
    done
    kill -s $signal $!
    ! wait $! || die "SIG$signal has not ended it"
    [ -z "$(ls left)" ] || die "SIG$signal leaves $(find left)"
done

# Measured, each size by a plan of its own; one that is refused is not run.
expect 0 "AllReduceLarge" "$tern" perf all_reduce -p 8 --executor "$dir/large.so" --sizes 1K,100000 \
    --ccl-bytes 1M -n 3 -w 1 -d f32
expect 0 "AllReduceLarge" "$tern" perf all_reduce -p 3 --executor "$folder/large.cc" --in-place \
    --sizes 4K --ccl-bytes 1M -n 3 -w 1 -d f32 --buffers 3
expect 0 "AllReduceSmall" "$tern" perf all_reduce -p 5 --executor "$dir/small.so" --fuse --in-place \
    --sizes 4K -n 3 -w 1 -d f32
expect 2 "--ccl-bytes and --fuse go with --executor" "$tern" perf all_reduce --fuse
expect 1 "lost notify" "$tern" perf all_reduce -p 8 --executor "$dir/lost_notify.so" --sizes 1K
expect 2 "--executor is for one kind" "$tern" perf all --executor "$dir/large.so"

# In real calls: all ways of memory, sizes that take pieces, with and without the kind's own place.
for n in 4 5 8; do
    for name in Small Medium Large; do
        lower=$(echo $name | tr SML sml)
        TERN_EXECUTOR=$dir/$lower.so TERN_ALGO=all_reduce:AllReduce$name \
            expect 0 "AllReduce$name" "$tern" perf all_reduce -p $n --sizes 4,1000,300000 -n 2 -w 0 -d f32
    done
done
# Whole: with scratch that a slot has, and in place where the plan is right so.
TERN_EXECUTOR=$dir/small.so expect 0 "scratch 65536" \
    "$tern" plan all_reduce --topo mesh:4 --bytes 30000 --algo AllReduceSmall --as-run window
TERN_EXECUTOR=$dir/small.so expect 1 "does not run in windows: it needs scratch memory" \
    "$tern" plan all_reduce --topo mesh:4 --bytes 300000 --algo AllReduceSmall --as-run window
for name in small large; do
    TERN_EXECUTOR=$dir/$name.so TERN_ALGO=all_reduce:AllReduce${name^} \
        expect 0 "AllReduce${name^}" "$tern" perf all_reduce -p 5 --sizes 30000 -n 3 -w 1 -d f32 --in-place
done
export TERN_EXECUTOR=$dir/large.so
expect 0 "0.in+0 1.in+0 2.in+0 3.in+0 ->" \
    "$tern" plan all_reduce --topo mesh:4 --bytes 300000 --algo AllReduceLarge --as-run window
expect 0 "AllReduceLarge" "$tern" perf all_reduce -p 4 --sizes 4,30000 -n 2 -w 0 -d f32 --in-place \
    --window no --algo AllReduceLarge
expect 2 "'AllReduceLarge' cannot do avg, which needs all inputs in one op" \
    "$tern" perf all_reduce -p 4 --sizes 4 --algo AllReduceLarge -d f32 -o avg
expect 2 "registers no executor 'Nobody', but 'AllReduceLarge'" \
    "$tern" perf all_reduce -p 4 --sizes 4 --algo Nobody
expect 2 "not in the order of the ranks" \
    "$tern" perf all_reduce -p 4 --sizes 4 --algo AllReduceLarge --order rank
TERN_ALGO=all_reduce:Nobody TERN_EXECUTOR=$dir/no.so \
    expect 2 "no.so' cannot be read" "$tern" perf all_reduce -p 4 --sizes 4
TERN_ALGO=all_reduce:AllReduceLostNotify TERN_EXECUTOR=$dir/lost_notify.so \
    expect 2 "lost notify" "$tern" perf all_reduce -p 4 --sizes 4
unset TERN_EXECUTOR
TERN_ALGO=all_reduce:AllReduceLarge \
    expect 2 "there is no algorithm 'AllReduceLarge'" "$tern" perf all_reduce -p 4 --sizes 4
