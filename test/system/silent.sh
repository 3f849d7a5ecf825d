#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# A rank that stands still is told why it is alone when it goes on, also where the other machine's rank has
# handled the failure and has ended well by then: it does not wait for that one.
source "$(dirname "$0")/../support/shell.sh"
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" "$root/test/system/silent.c" -o rank \
    -L"$build/lib" -ltern -Wl,-rpath,"$build/lib" || die "silent.c does not compile"

agent="sh -c 'shift; exec \"\$@\"' agent"
pids=()
for count in 1 100000; do
    TERN_NET_TIMEOUT=2 TERN_TIMEOUT=60 "$tern" run --hosts a:1,b:1 --agent "$agent" ./rank $count \
        >out.$count 2>err.$count & pids+=($!)
done
wait "${pids[@]}" || true
for count in 1 100000; do
    for rank in 0 1; do
        grep -q "^rank $rank: .*machine [ab] (rank [01]) has been silent for 2.0 s" out.$count ||
            die "$count floats, rank $rank: $(cat out.$count err.$count)"
    done
done
echo "silent.sh: who stood still is told"
