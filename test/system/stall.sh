#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# tern run says once that all ranks wait and none goes on, on one machine and on several; not while a
# rank is elsewhere, or works in another thread, here or there, or is woken again and again, and not when
# it shall not.
source "$(dirname "$0")/../support/shell.sh"
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" "$root/test/system/stall.c" -o rank -pthread \
    -L"$build/lib" -ltern -Wl,-rpath,"$build/lib" || die "stall.c does not compile"

agent="sh -c 'shift; exec \"\$@\"' agent"
# job NAME STALL OPTIONS WORDS...: its standard error in the file NAME
job() {
    local name=$1 stall=$2
    shift 2
    status=0
    TERN_STALL=$stall TERN_TIMEOUT=12 "$tern" run "$@" >/dev/null 2>"$name" || status=$?
    [ $status -eq 1 ] || echo "exit status $status" >>"$name"
}

pids=()
job alone 1 -n 3 ./rank & pids+=($!)
job meet 1 -n 3 ./rank meet ./meet.meeting & pids+=($!)
job machines 1 --hosts a:2,b:1 --agent "$agent" ./rank & pids+=($!)
job elsewhere 1 -n 2 ./rank elsewhere & pids+=($!)
job apart 1 -n 2 ./rank meet-elsewhere ./apart.meeting & pids+=($!)
job works 1 -n 2 ./rank works & pids+=($!)
job little 4 -n 2 ./rank little & pids+=($!)
job there 1 --hosts a:1,b:1 --agent "$agent" ./rank works & pids+=($!)
job ticks 1 -n 3 ./rank ticks & pids+=($!)
job never never -n 2 ./rank & pids+=($!)
wait "${pids[@]}"

said='^tern run: all ranks wait, and for [0-9.]* s none of them has gone on: rank 0 waits in recv 1 of 4 bytes from rank 2 .*; rank 1 waits in recv 1 of 4 bytes from rank 0 .*; rank 2 waits in recv 1 of 4 bytes from rank 1 '
for name in alone meet machines; do
    [ "$(grep -c "$said" $name)" -eq 1 ] || die "$name: $(<$name)"
done
grep -q "$said.*(process [0-9]* on machine b)\$" machines || die "whose machine is not said: $(<machines)"
for name in elsewhere apart works little there ticks never; do
    ! grep 'all ranks wait' $name || die "$name: $(<$name)"
done
for name in alone meet machines elsewhere apart works little there never; do
    grep -q 'communicator 0 has failed: TERN_ERR_TIMEOUT' $name || die "$name has not waited: $(<$name)"
done
for name in alone meet machines elsewhere apart works little there ticks never; do
    ! grep -q 'exit status' $name || die "$name: $(<$name)"
done
expect 125 "TERN_STALL is 'soon'; it must be a number of seconds above 0, such as 60 or 0.5, or never" \
    env TERN_STALL=soon "$tern" run -n 2 ./rank
