#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# tern plan --algo optimal as a person would use it: plans over links that nothing else knows are
# proved and run, with the bytes on links as planned; certificates are worked out again; a search ends
# at its time and at Ctrl-C with the best so far; sentences.
source "$(dirname "$0")/../support/shell.sh"
"$tern" plan all_reduce --list >list
grep -q '^optimal ' list || die "--list lacks optimal: $(cat list)"
expect 1 "there is no algorithm 'optimal' for barrier" "$tern" plan barrier --topo mesh:4 --algo optimal
if ! "$tern" plan all_reduce --topo mesh:3 --bytes 4K --algo optimal -o plan 2>said; then
    grep -q GLPK said || die "$(cat said)"
    echo "no GLPK here: $(cat said)"
    exit 0
fi

cut=(--topo mesh:5 --cut 0-1 --cut 0-2)
for kind in all_reduce reduce_scatter all_gather broadcast reduce gather scatter all_to_all; do
    for order in rank any; do
        "$tern" plan $kind "${cut[@]}" --bytes 600000 --order $order --algo optimal --summary \
            --certificate $kind.proof -o plan >summary
        expect 0 "proved for 5 ranks" "$tern" check plan "${cut[@]}"
        expect 0 "bound     proved: no plan" "$tern" check plan --certificate $kind.proof "${cut[@]}"
        expect 0 "right on all ranks" "$tern" exec plan -n 5 --runs 2
        planned=$(sed -n 's/^busiest *\([0-9]*\) bytes.*/\1/p' summary)
        counted=$(sed -n 's/^links.*: \([0-9]*\) bytes, .*/\1/p' said)
        [ -n "$planned" ] && [ "$planned" = "$counted" ] ||
            die "$kind: $planned bytes planned on the busiest link, $counted counted"
    done
done

# The summary tells of the search; what was planned is what tern sim says.
"$tern" plan all_reduce "${cut[@]}" --bytes 600000 --algo optimal --summary -o plan >summary
us=$(sed -n 's/^search .* is the quickest, \([0-9.]*\) us$/\1/p' summary)
"$tern" sim plan "${cut[@]}" >simulated
[ -n "$us" ] && grep -q "^time  *$us us" simulated || die "$us us: $(cat summary simulated)"
cmp plan <("$tern" plan all_reduce "${cut[@]}" --bytes 600000 --algo optimal) || die "another plan"

# Without a name: where the table has nothing, or nothing near what the links allow; not elsewhere.
expect 0 "plan      all_reduce optimal, 5 ranks" \
    "$tern" plan all_reduce --topo ring:5 --bytes 600000 --summary
expect 0 "plan      all_reduce fused, 5 ranks" \
    "$tern" plan all_reduce --topo mesh:5 --bytes 600000 --summary
if grep -q '^search' said; then
    die "searched on a mesh: $(cat said)"
fi

# A certificate of what is not there, of something else, and with a wrong line.
"$tern" plan all_reduce --topo mesh:5 --bytes 4K --algo tree --certificate - -o plan >proof
expect 2 "a price for the link 0>2" "$tern" check --certificate proof --topo mesh:5 --cut 0-2
expect 2 "is for 5 ranks, the topology has 4" "$tern" check --certificate proof --topo mesh:4
expect 2 "'broadcast.proof' is about broadcast, and the plan is of all_reduce" \
    "$tern" check plan --certificate broadcast.proof "${cut[@]}"
sed 's/^link 0 2 /link 0 2 -/' proof >wrong
expect 2 "wrong:" "$tern" check --certificate wrong "${cut[@]}"
expect 2 "lost" "$tern" check --certificate lost "${cut[@]}"
expect 2 "--certificate needs --topo" "$tern" check --certificate proof
expect 2 "cannot both be standard output" \
    "$tern" plan all_reduce "${cut[@]}" --bytes 4K --certificate -
expect 1 "no links lead from rank 0 to rank 1" "$tern" plan all_reduce --topo mesh:2 --cut 0-1 --bytes 4K --algo optimal
expect 2 "--time takes seconds" "$tern" plan all_reduce "${cut[@]}" --bytes 4K --time soon
expect 1 "the planner is for 1 to 64 ranks, not 65" \
    "$tern" plan all_reduce --topo mesh:65 --bytes 4K --algo optimal

# At its time, and at Ctrl-C, a long search has the best plan so far.
long=(plan all_reduce --topo random:14,1 --bytes 64M --order any --algo optimal -o plan)
expect 0 "" "$tern" "${long[@]}" --time 0.3
expect 0 "proved for 14 ranks" "$tern" check plan --topo random:14,1
rm plan
env --default-signal=INT "$tern" "${long[@]}" 2>stopped & # bash ignores it for those behind an &
search=$!
sleep 1
kill -INT $search 2>/dev/null || true # it may be over
status=0
wait $search || status=$?
[ $status -eq 0 ] || die "after Ctrl-C exit status $status: $(cat stopped)"
expect 0 "proved for 14 ranks" "$tern" check plan --topo random:14,1
