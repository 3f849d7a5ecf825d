#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# tern sim as a person would use it: a kind and the file of its plan take the same time; a table over
# sizes and algorithms; JSON that adds up; traces and pages; a link that fails; 4096 ranks; sentences.
source "$(dirname "$0")/../support/shell.sh"
cut=(--topo mesh:8 --cut 0-1)

# The time can be computed by hand: two copies, one behind the other, and a post between them.
"$tern" sim broadcast --topo mesh:3 --bytes 0 >/dev/null 2>said && die "0 bytes are simulated"
cat >two.plan <<'END'
tern-plan 1
kind all_reduce
ranks 2
bytes 50000
unit 4
algorithm by_hand
rank 0 lane 0
copy @0 50000 : 0.in+0 -> 1.out+0
post @0 rank 1 signal 0
rank 1 lane 0
wait @0 signal 0 count 1
copy @1 25000 : 1.in+0 -> 0.out+0
end
END
expect 0 "time      9.000 us; algbw 5.556 GB/s" "$tern" sim two.plan --topo mesh:2 --steps --ranks
for text in "rank 1               9.000 us" "66.7 %          6.000 us  start-up (3)" \
    "22.2 %          2.000 us  link 0>1 (1)" "11.1 %          1.000 us  link 1>0 (1)" \
    "4.000 to          6.000 us  rank 0, lane 0, op 1 (post)  start-up"; do
    grep -qF -- "$text" said || die "two.plan: no '$text' in $(cat said)"
done

# A kind and its plan; the same sizes in a table.
"$tern" plan all_reduce "${cut[@]}" --bytes 6M --algo cut_relay -o relay.plan
"$tern" sim relay.plan "${cut[@]}" >file
"$tern" sim all_reduce "${cut[@]}" --bytes 6M --algo cut_relay >kind
cmp <(grep -v '^simulated' file) <(grep -v '^simulated' kind) || die "a plan and its file differ"
us=$(sed -n 's/^time *\([0-9.]*\) us.*/\1/p' file)
"$tern" sim all_reduce "${cut[@]}" --sizes 1K,6M --algo cut_small,cut_relay >table
[ "$(grep -vc '^#' table)" -eq 4 ] || die "no four rows: $(cat table)"
grep -q mean table && die "a score without its sizes: $(cat table)"
"$tern" sim all_reduce "${cut[@]}" --sizes 1K,1M,1G --algo cut_small,cut_owners >scores
mean=$(awk '$2 == "cut_owners" { sum += $4 } END { printf "%.2f", sum / 3 }' scores)
grep -qE "^# mean algbw of 1K, 1M and 1G: $mean[0-9]* GB/s, cut_owners$" scores || die "no $mean: $(cat scores)"
grep -q "^ *6291456  cut_relay  *$us " table || die "no $us us for 6M by relays: $(cat table)"
"$tern" sim relay.plan "${cut[@]}" --seed 1 --jitter 0.2 >one
"$tern" sim relay.plan "${cut[@]}" --seed 1 --jitter 0.2 >other
cmp <(grep -v '^simulated' one) <(grep -v '^simulated' other) || die "the same seed, and other times"
! cmp -s <(grep '^time' one) <(grep '^time' file) || die "jitter changes nothing"

# JSON: parts of the path, and what was lost, sum up to the time.
"$tern" sim relay.plan "${cut[@]}" --json --ranks --steps >said.json
python3 - <<'END' || die "the JSON does not add up: $(head -c 300 said.json)"
import json
told = json.load(open("said.json"))
assert abs(sum(part["us"] for part in told["path"]) - told["time_us"]) < 1e-4
assert abs(sum(told["lost"].values()) - told["time_us"]) < 1e-4
assert max(told["ranks_us"]) == told["time_us"] and len(told["ranks_us"]) == 8
assert told["steps"][0]["begin_us"] == 0 and told["steps"][-1]["end_us"] == told["time_us"]
assert all(a["end_us"] == b["begin_us"] for a, b in zip(told["steps"], told["steps"][1:]))
assert told["use"][0]["least_us"] >= told["use"][-1]["least_us"] > 0
END

# Ranks that share processors: of what `tern tune` has measured, or a sentence. 2 copies of 25000 bytes on
# one processor at 10 GB/s, with 1000 ns before the first op: 11 us; what is given comes before what is measured.
cat >costs <<'END'
tern-tune 1
cost ranks 1 processors 1 begin 1000 meet 0 op 0 post 0 wake 0
rate 65536 copy 10000 fresh 10000 reduce 5000 5000 10000 10000
END
cat >both.plan <<'END'
tern-plan 1
kind all_reduce
ranks 2
bytes 25000
unit 4
algorithm by_hand
rank 0 lane 0
copy @0 25000 : 0.in+0 -> 1.out+0
rank 1 lane 0
copy @0 25000 : 1.in+0 -> 0.out+0
end
END
TERN_TUNE=costs expect 0 "time      11.000 us" "$tern" sim both.plan --topo mesh:2 --measured
TERN_TUNE=costs expect 0 "time      6.000 us" "$tern" sim both.plan --topo mesh:2 --measured --processors 2
if [ "$(nproc)" -gt 1 ]; then
    TERN_TUNE=costs expect 0 "processors of the machine" "$tern" sim all_reduce --topo this --bytes 64K
fi
TERN_TUNE= expect 1 "'tern tune -p 2' does that" "$tern" sim both.plan --topo mesh:2 --measured
TERN_TUNE= expect 0 "the links of 'this' are nominal" "$tern" sim all_reduce --topo this --bytes 64K
[ "$(grep -c nominal said)" -eq 1 ] || die "said twice: $(cat said)"

# A link that fails; a plan that waits for ever; a link that is not there.
expect 1 "over link 2>3, which has failed with" "$tern" sim relay.plan "${cut[@]}" --fail '2>3@50'
grep -qF 'it never ends' said || die "nothing says that it never ends"
! grep -w inf said || die "ranks that never end have a time"
"$tern" plan gather --topo mesh:3 --bytes 6M --algo direct -o gather.plan
expect 1 "us (rank 1); these never:" "$tern" sim gather.plan --topo mesh:3 --fail '2>0@1'
[ "$(grep -cE '^ +rank [02] +never$' said)" -eq 2 ] || die "not ranks 0 and 2: $(cat said)"
"$tern" plan reduce --topo mesh:3 --bytes 6M --algo fused -o reduce.plan
expect 1 "ranks     none ends" "$tern" sim reduce.plan --topo mesh:3 --fail '2>0@1'
expect 1 "has no link 2>3" "$tern" sim relay.plan "${cut[@]}" --cut 2-3
sed 's/count 1/count 2/' two.plan >stuck.plan
expect 1 "rank 1, lane 0, op 0 (wait) waits for 2 posts of signal 0, and 1 ever comes" \
    "$tern" sim stuck.plan --topo mesh:2

# The run as a trace, of a file and of a program; as a page, whose trace goes again; in part.
check_trace() { python3 "$root/test/support/trace_check.py" "$@"; }
export TMPDIR=$dir
expect 0 "" "$tern" sim relay.plan "${cut[@]}" --trace relay.json --timeline relay.html
check_trace relay.json 8 'len(arrows) > 50' 'len(counters) == 54' \
    "abs(max(e['ts'] + e['dur'] for e in X) - $us) < 0.01" \
    'all(e["name"].split(" ")[0] in ("copy", "reduce", "post", "wait") for e in X)'
grep -q "<title>all_reduce cut_relay, 6291456 bytes, on mesh:8 --cut 0-1: simulated</title>" \
    relay.html || die "the page has no such title: $(grep '<title>' relay.html)"
expect 0 "" "$tern" sim all_reduce --topo mesh:2048 --bytes 1M --algo tree --timeline tree.html \
    --trace-events 5000
grep -q "^tern sim: the trace holds 5000 events, up to [0-9.]* us of [0-9.]* us; --trace-events" said ||
    die "nothing says what a full trace lacks: $(cat said)"
[ -s tree.html ] || die "no page of a program"
! compgen -G "$dir/tern-page-*" || die "the trace of a page stays"
expect 2 "of one size and one algorithm" "$tern" sim all_reduce --topo mesh:4 --sizes 1K,2K \
    --trace two.json
expect 1 "/nowhere" "$tern" sim two.plan --topo mesh:2 --timeline /nowhere/two.html
expect 1 "/nowhere" "$tern" sim two.plan --topo mesh:2 --trace /nowhere/two.json
TERN_PYTHON=/nowhere/python expect 1 "/nowhere/python is no Python with its library; install python3" \
    "$tern" sim two.plan --topo mesh:2 --timeline two.html

# More ranks than a plan can have.
"$tern" sim all_reduce --topo hosts:512x8@25 --bytes 64M --algo hierarchical --group 8 >many
grep -q '^sim .* 4096 ranks' many || die "4096 ranks: $(cat many)"
expect 2 "which program?" "$tern" sim all_reduce --topo ring:2048 --bytes 1M
expect 1 "a power of two of ranks, not 6" "$tern" sim all_reduce --topo mesh:6 --bytes 1M \
    --algo halving_doubling --generated

expect 2 "--topo is missing" "$tern" sim all_reduce --bytes 1M
expect 2 "--bytes is missing" "$tern" sim all_reduce --topo mesh:4
expect 2 "'all_reduse' is no file" "$tern" sim all_reduse --topo mesh:4 --bytes 4K
expect 2 "not with --bytes" "$tern" sim two.plan --topo mesh:2 --bytes 4K
expect 1 "did you mean 'fused'" "$tern" sim all_reduce --topo mesh:4 --bytes 4K --algo fusd
expect 1 "the plan is for 2 ranks" "$tern" sim two.plan --topo mesh:4
expect 1 "0-1@100 or 0>1@100, not '0-1'" "$tern" sim two.plan --topo mesh:2 --fail 0-1
expect 1 "jitter is from 0 to 100" "$tern" sim two.plan --topo mesh:2 --jitter 1000
expect 2 "a number from 0 on" "$tern" sim two.plan --topo mesh:2 --memory fast
expect 0 "rank 0" "$tern" sim - --topo mesh:2 --ranks <two.plan
echo "sim.sh: plans, tables, JSON, traces, failures and 4096 ranks"
