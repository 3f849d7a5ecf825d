#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
#
# Random kills on several machines: of ranks, launchers and the head, cables cut in each direction or
# flapping, hosts that stand still. Each time the job ends by itself, says who is missing, and leaves
# no process and no file on any host. TERN_TEST_KILLS says how many, 6 unless it is set. When ranks said
# so is printed, and in the file that TERN_TEST_KILLS_LIST names; it is judged by whoever reads it.
source "$(dirname "$0")/../support/shell.sh"
netlab=$build/bin/netlab
program=$build/bin/bench_machines
[ -x "$program" ] || { echo "skipped: the benchmarks were not built"; exit 77; }
export TERN_NET_TIMEOUT=1
kills=${TERN_TEST_KILLS:-6}
seed=${TERN_TEST_SEED:-$RANDOM}
RANDOM=$seed
hosts=3
host_of=(tn0 tn0 tn1 tn2 tn2) # by rank
ways=(rank launcher head cut cut_from cut_to flap stop)
longest=0
list=${TERN_TEST_KILLS_LIST:-sentences}
: >"$list"

make_lab() {
    local status=0
    lab=$("$netlab" --for $$ up $hosts 2>said) || status=$?
    if [ $status -eq 77 ]; then
        echo "skipped: $(<said)"
        exit 77
    fi
    [ $status -eq 0 ] || die "netlab: $(<said)"
}

# kill_one HOST COMMAND: the first of its processes with that name; 1: there is none yet.
kill_one() {
    begin=$EPOCHREALTIME
    "$lab/rsh" "$1" "for p in /proc/[0-9]*; do read name <\$p/comm && [ \"\$name\" = $2 ] &&
        kill -KILL \${p#/proc/} && exit 0; done; exit 1" 2>/dev/null
}

ended() {
    ! kill -0 $job 2>/dev/null
}

# within SECONDS TEST...
within() {
    local times=$(($1 * 20))
    for _ in $(seq $times); do
        ! "${@:2}" || return 0
        sleep 0.05
    done
    return 1
}
within_reason() {
    within 20 "$@"
}

# note_sentences WAY HOST: for each rank that said why it ends, how long after the harm, in ms; of a host
# that stood still, how long after it went on. A rank says it once, at the end of its file.
note_sentences() {
    local file written since
    for file in out/*; do
        if [ -s "$file" ]; then
            written=$(stat -c %.6Y "$file")
            since=$begin
            [ "$1" != stop ] || [ "${host_of[${file//[!0-9]/}]}" != "$2" ] || since=$went_on
            echo "$1 $2 ${file#out/} $(((${written/./} - ${since/./}) / 1000)) $(tail -1 "$file")" >>"$list"
        fi
    done
}

nothing_left() {
    "$lab/netlab" left >left 2>&1
}

nothing_to_kill() {
    die "$what: there is nothing to kill: $(head -5 said)"
}

one() {
    local way=${ways[RANDOM % ${#ways[@]}]} host=tn$((RANDOM % hosts)) begin went_on
    [ "$way$host" != launchertn0 ] || way=head # the first of them there
    local what="kill $1 of $kills ($way on $host, TERN_TEST_SEED=$seed)"
    make_lab
    rm -rf out
    "$lab/rsh" tn0 "$build/bin/tern run --hosts tn0:2,tn1:1,tn2:2 --agent $lab/rsh --output $dir/out \
        $program all_reduce 1000" >said 2>&1 &
    job=$!
    sleep "$((RANDOM % 2)).$((RANDOM % 1000))"
    begin=$EPOCHREALTIME
    case $way in
    rank) within_reason kill_one "$host" bench_machines || nothing_to_kill ;;
    launcher) within_reason kill_one "$host" tern || nothing_to_kill ;;
    head) within_reason kill_one tn0 tern || nothing_to_kill ;;
    cut) "$lab/netlab" cut "$host" ;;
    cut_from) "$lab/netlab" cut "$host" from ;;
    cut_to) "$lab/netlab" cut "$host" to ;;
    flap) "$lab/netlab" flap "$host" 1500 1 ;;
    stop) "$lab/netlab" stop "$host" ;;
    esac
    case $way in
    cut* | stop) begin=$EPOCHREALTIME ;; # these take a while on a busy box, and are sure when they end
    esac
    # A host that stands still holds what runs on it, the head of the job among it.
    if [ $way = stop ]; then
        sleep 3
        went_on=$EPOCHREALTIME
        "$lab/netlab" go "$host"
        if ! within 3 ended; then # nothing of the job ran there yet, so nothing stood still
            "$lab/netlab" stop "$host"
            begin=$EPOCHREALTIME
            sleep 3
            went_on=$EPOCHREALTIME
            "$lab/netlab" go "$host"
        fi
    fi
    within_reason ended || die "$what: the job does not end: $(head -5 said)"
    took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    [ $took -le $longest ] || longest=$took
    [ $way = head ] ||
        grep -qE 'died|silent|is lost|has failed|gone|killed|ended|exited' said ||
        die "$what: nothing is said: $(head -5 said)"
    within_reason nothing_left || die "$what: left: $(head -8 left); said: $(head -4 said)"
    note_sentences $way "$host" # ranks that only hear may say it when the job has ended elsewhere
    "$lab/netlab" down
    wait
}

for i in $(seq "$kills"); do
    one "$i"
done
echo "$kills kills; the longest end took $longest ms"
awk '$4 > 1300 { late++ } $4 > most { most = $4 }
    END { print NR " sentences of ranks; the latest after " most + 0 " ms; after 1.3 s: " late + 0 }' "$list"
