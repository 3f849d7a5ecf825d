#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole suite again and again, each time with a fresh seed, in turn in each of the settings below:
# what passes only on the machine it was written on is found here.
#
#   contrib/soak.sh [RUNS]               RUNS suites, 30 unless said otherwise
#   SETTINGS="alone busy" contrib/soak.sh
#   SEED=17 contrib/soak.sh 1            the first suite with this seed
#   TESTS='coll/.*' contrib/soak.sh      only the tests that match (ctest -R)
#   WITHOUT='^topo/' contrib/soak.sh     not those that match (ctest -E)
#   TERN_TEST_CLANG=no contrib/soak.sh   kernels are compiled by g++ alone
#
# The last commit is cloned and built once below ${TMPDIR:-/tmp}, where any user can read it. A setting that
# this machine cannot give (most need root) is left out, and the reason said. One line a suite; the logs
# of failed ones are kept, with the seed that repeats them. Exit status 1 if any failed.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
runs=${1:-30}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "soak.sh: '$runs' is no number of suites; try 30" >&2; exit 2; }
settings=(${SETTINGS:-alone busy one-processor non-root memory-2g young old})
jobs=${JOBS:-$(nproc)}
test_jobs=${TEST_JOBS:-$((2 * jobs))} # many wait for deadlines
seed=${SEED:-}
other_uid=65534
years=300000000 # seconds

work=$(mktemp -d "${TMPDIR:-/tmp}/tern-soak-XXXXXX")
chmod 755 "$work"
group=tern-soak-$$
busy=()
groups_made=()
suite=

clean_up() {
    local one
    [ -z "$suite" ] || kill -- -"$suite" 2>/dev/null || true
    for one in ${busy[@]+"${busy[@]}"}; do kill "$one" 2>/dev/null || true; done
    for one in ${groups_made[@]+"${groups_made[@]}"}; do rmdir "$one" 2>/dev/null || true; done
    if compgen -G "$work/failed-*" >/dev/null; then
        rm -rf "$work/tree" "$work"/run-*
        echo "soak.sh: logs of failed suites: $work"
    else
        rm -rf "$work"
    fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

is_root() { [ "$(id -u)" -eq 0 ]; }

as_other() { setpriv --reuid=$other_uid --regid=$other_uid --clear-groups "$@"; }

# PATH without the folders that the other user cannot look into: the build keeps the paths of the tools
# that it finds.
path_of_all() {
    local folder found=
    while read -r folder; do
        ! as_other test -x "$folder" || found+=:$folder
    done < <(tr : '\n' <<<"$PATH")
    echo "${found:1}"
}

# What the failed tests of a log have printed, without their passed cases.
show_failed() {
    awk '/^ *[0-9]+\/[0-9]+ Test/ { failed = /\*\*\*/ && !/Skipped/ }
        /^ +Start/ || /^[0-9]+% tests passed/ { next }
        failed && !/^\[ (RUN|      OK)/' "$1" | head -n 60
}

# A control group of 2 GiB: prints the file that takes the processes, or fails with a reason.
make_memory_group() {
    local folder
    is_root || { echo "not root"; return 1; }
    for folder in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        mkdir "$folder/$group" 2>/dev/null || continue
        local limit
        for limit in memory.limit_in_bytes memory.max; do
            if [ -w "$folder/$group/$limit" ] && echo $((2 << 30)) >"$folder/$group/$limit"; then
                echo "$folder/$group/cgroup.procs"
                return 0
            fi
        done
        rmdir "$folder/$group" 2>/dev/null || true
    done
    echo "no memory control group can be made"
    return 1
}

# Why a setting cannot be had here; nothing when it can.
reason_against() {
    case $1 in
    alone | busy) ;;
    one-processor) taskset -c "$first_cpu" true 2>/dev/null || echo "no taskset" ;;
    non-root) is_root || echo "not root, so it is like that already" ;;
    memory-2g) [ -n "$memory_procs" ] || echo "$memory_reason" ;;
    young | old)
        is_root || { echo "not root"; return; }
        unshare -T --boottime $years true 2>/dev/null || echo "no time namespaces"
        ;;
    *)
        echo "soak.sh: there is no setting '$1' (alone, busy, one-processor, non-root, memory-2g, young, old)" >&2
        exit 2
        ;;
    esac
}

uptime_s() { cut -d. -f1 /proc/uptime; }

# run_in SETTING COMMAND...
run_in() {
    local setting=$1
    shift
    case $setting in
    alone) "$@" ;;
    busy)
        (while :; do :; done) & busy+=($!)
        (while :; do :; done) & busy+=($!)
        local status=0
        "$@" || status=$?
        kill "${busy[@]}" && wait "${busy[@]}" 2>/dev/null || true
        busy=()
        return $status
        ;;
    one-processor) taskset -c "$first_cpu" "$@" ;;
    non-root) # tests also write into the build folder, and suites of root leave their files there
        chown -R $other_uid "$work/tree/build"
        as_other env HOME="$PWD" "$@"
        ;;
    memory-2g) bash -c 'echo $$ >"$0" && exec "$@"' "$memory_procs" "$@" ;;
    young) # up for some seconds
        local back=$(($(uptime_s) - 3))
        unshare -T --boottime -$back --monotonic -$back "$@"
        ;;
    old) unshare -T --boottime $years --monotonic $years "$@" ;;
    esac
}

# ctest reads its list of tests in a folder that it may write to.
copy_tests() {
    local list
    (cd "$work/tree/build/release" && find . -name CTestTestfile.cmake) | while read -r list; do
        mkdir -p "$1/$(dirname "$list")"
        cp "$work/tree/build/release/$list" "$1/$list"
    done
}

first_cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*: *//; s/[-,].*//')
memory_procs=
memory_reason=
for setting in "${settings[@]}"; do
    if [ "$setting" = memory-2g ] && [ -z "$memory_procs" ]; then
        if memory_procs=$(make_memory_group); then
            groups_made+=("${memory_procs%/*}")
        else
            memory_reason=$memory_procs
            memory_procs=
        fi
    fi
done
usable=()
for setting in "${settings[@]}"; do
    reason=$(reason_against "$setting") || exit 2
    if [ -n "$reason" ]; then
        echo "soak.sh: without '$setting': $reason"
    else
        usable+=("$setting")
    fi
done
[ ${#usable[@]} -gt 0 ] || { echo "soak.sh: no setting is left" >&2; exit 2; }

git clone -q "$here" "$work/tree"
build_path=$PATH
! is_root || build_path=$(path_of_all)
PATH=$build_path make --no-print-directory -C "$work/tree" build-release >"$work/build.log" 2>&1 ||
    { tail -n 20 "$work/build.log" >&2; exit 1; }
echo "commit $(git -C "$work/tree" log -1 --format='%h %s')"

failures=0
for ((run = 1; run <= runs; run++)); do
    setting=${usable[$(((run - 1) % ${#usable[@]}))]}
    state=$work/run-$run
    copy_tests "$state"
    chmod -R a+rwX "$state"
    [ -n "$seed" ] || seed=$((RANDOM << 30 | RANDOM << 15 | RANDOM))
    begin=$SECONDS
    verdict=passed
    # In a group of its own, and in the background, so that ending this script ends it at once.
    set -m
    (cd "$state" && TERN_TEST_SEED=$seed run_in "$setting" \
        ctest -j "$test_jobs" --output-on-failure ${TESTS:+-R "$TESTS"} \
        ${WITHOUT:+-E "$WITHOUT"}) >"$state/log" 2>&1 </dev/null &
    suite=$!
    set +m
    wait $suite || verdict=FAILED
    suite=
    printf '%3d of %d  %-13s  seed %-14s  %s in %d s: %s\n' "$run" "$runs" "$setting" "$seed" \
        "$verdict" $((SECONDS - begin)) "$(grep 'tests passed' "$state/log" || tail -n 1 "$state/log")"
    if [ $verdict = FAILED ]; then
        failures=$((failures + 1))
        sed -n '/^The following tests FAILED/,$p' "$state/log" | grep -E '^[[:space:]]+[0-9]+ - ' || true
        show_failed "$state/log"
        mv "$state/log" "$work/failed-$run-$setting-$seed.log"
    fi
    rm -rf "$state"
    seed=
done
echo "$runs suites, $failures failed"
[ $failures -eq 0 ]
