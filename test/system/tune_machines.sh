#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# tern tune between machines: a row for them, beside the rows that were there; calls of such jobs run
# what it says, those of one machine do not.
source "$(dirname "$0")/../support/shell.sh"
printf '%s\n' "tern-tune 1" "broadcast ranks 2 small direct 64 window fused staged direct 65536" \
    "all_gather machines 2 ranks 2 slots 64 large one 65536" >rows
expect 0 "written to rows" "$tern" tune --hosts localhost:1,localhost:1 --time 0.2 --output rows broadcast reduce
for words in '' ' halves' ' order any'; do
    [ "$(grep -cE "^reduce machines 2 ranks 2$words slots [0-9]* large [a-z_]* [0-9]*$" rows)" -eq 1 ] ||
        die "no row for reduce$words: $(cat rows)"
done
sed -i '/^reduce /d' rows
wanted='^broadcast machines 2 ranks 2 slots [0-9]* large (direct|one|chain) [0-9]*$'
[ "$(grep -cE "$wanted" rows)" -eq 1 ] || die "the file has: $(cat rows)"
[ "$(grep -cE "$wanted" said)" -eq 1 ] || die "not printed once: $(cat said)"
grep -q '^broadcast ranks 2 small direct 64 ' rows || die "the row of one machine is gone: $(cat rows)"
grep -q '^all_gather machines 2 ranks 2 slots 64 large one 65536$' rows || die "a row is gone: $(cat rows)"

# perf COUNT...: an all_gather by ranks on so many, with that file
perf() {
    local hosts=''
    for count; do hosts=$hosts,localhost:$count; done
    TERN_TUNE=$dir/rows TERN_LOG=info "$tern" run --hosts "${hosts#,}" "$tern" perf all_gather \
        -b 4K -e 4K -n 2 >said 2>&1 || die "tern perf fails: $(cat said)"
}
perf 1 1
grep -q 'selects for all_gather: up to 64 bytes pull; above, one in pieces of 65536 bytes, between machines (line .* of .*/rows)' said ||
    die "not what the row says: $(cat said)"
perf 2
grep -q 'selects for all_gather: .*(built in)' said || die "on one machine: $(cat said)"

expect 2 "-p is for one machine: --hosts says how many ranks" \
    "$tern" tune --hosts localhost:1,localhost:1 -p 2
expect 2 "--hosts: one rank has nothing to measure" "$tern" tune --hosts localhost
expect 2 "--agent goes with --hosts LIST" "$tern" tune --agent ssh
expect 2 "names no host" "$tern" tune --hosts a:2,
expect 125 "cannot start host" "$tern" tune --hosts a:2,b:2 --agent false --output other
[ "$(grep -c . rows)" -eq 5 ] || die "rows: $(cat rows)"
printf 'tern-tune 1\nall_reduce machines 2 ranks 4 slots 64 large two 65536\n' >wrong
expect 1 "wrong:2:46: two cannot do this all_reduce: its sums are not in the order of the ranks" \
    env TERN_TUNE="$dir/wrong" "$tern" info --algos --kind all_reduce
