#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# What carries bytes between machines: tern's own connections, UCX, and both MPIs, each where it is
# built. The machines are words of TERN_MACHINE on this box. A killed rank is told to all, also of
# programs of the comm_* face: TERN_TEST_KILLS of those with each engine that needs no MPI, 1 unless it
# is set.
source "$(dirname "$0")/../support/shell.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TERN_TIMEOUT=100
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export UCX_LOG_LEVEL=fatal
${CC:-cc} -O1 "$root/test/system/engines.c" -o program -I"$root/include" -L"$build/lib" -ltern \
    -Wl,-rpath,"$build/lib"
${CC:-cc} -O1 -D_GNU_SOURCE "$root/test/system/comm_kills.c" -o comm_kills -I"$root/include" \
    -I"$root/include/faces" -L"$build/lib" -ltern -Wl,-rpath,"$build/lib"
kills=${TERN_TEST_KILLS:-1}

# A rank under mpirun: its machine.
cat >placed <<'EOS'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
TERN_MACHINE=m$((rank / $1))
export TERN_MACHINE
shift
exec "$@"
EOS
chmod +x placed

# exchanged MACHINES EACH WORDS...: starts the ranks, and waits; their words are in rank.*.
exchanged() {
    local each=$2 n=$(($1 * $2)) rank program=${program:-./program}
    shift 2
    pids=()
    statuses=()
    for ((rank = 0; rank < n; rank++)); do
        TERN_EXCHANGE=$rank:$n:$dir/meet TERN_MACHINE=m$((rank / each)) \
            timeout 120 "$program" "$@" >"rank.$rank" 2>&1 &
        pids+=($!)
    done
    for rank in "${!pids[@]}"; do
        local status=0
        wait "${pids[rank]}" || status=$?
        statuses+=("$status")
    done
    [ ! -e meet ] || die "the folder of the exchange is left"
}

all_right() {
    local rank
    for rank in "${!statuses[@]}"; do
        [ "${statuses[rank]}" -eq 0 ] || die "$1: rank $rank: ${statuses[rank]}: $(cat rank.*)"
    done
}

# all_told ENGINE VICTIM WORDS: every other rank says these, whatever machine it is on.
all_told() {
    local rank
    for rank in "${!statuses[@]}"; do
        [ "$rank" -ne "$2" ] || continue
        [ "${statuses[rank]}" -eq 9 ] || die "$1: rank $rank: ${statuses[rank]}: $(cat "rank.$rank")"
        grep -qE "$3" "rank.$rank" || die "$1: $(cat "rank.$rank")"
    done
}

comm_kill() {
    local victim=$((RANDOM % 4))
    TERN_COMM_BACKEND=$1 program=./comm_kills exchanged 2 2 $victim $((RANDOM % 400))
    all_told "comm_* over $1" $victim 'rank [0-3] (on machine m[01] )?died' # also who ended after it
}

walk() {
    export TERN_NET=$1
    for shape in "2 1" "2 2" "3 1"; do
        exchanged $shape
        all_right "$1, $shape"
    done
    exchanged 2 2 die 1
    all_told "$1" 1 'rank 1'
    for ((i = 0; i < kills; i++)); do comm_kill "$1"; done
}
walk tcp
[ ! -e "$build/lib/libtern_net_ucx.so" ] || walk ucx

# under LAUNCHER MPI
under() {
    [ -e "$build/lib/libtern_net_mpi_$2.so" ] && command -v "$1" >/dev/null || return 0
    export TERN_NET=mpi
    expect 0 'right on 4 ranks' timeout 120 "$1" -n 4 ./placed 2 ./program
    expect 0 'right on 3 ranks' timeout 120 "$1" -n 3 ./placed 1 ./program
}
under mpirun.openmpi openmpi
under mpiexec.hydra mpich

# What is refused, on all ranks.
TERN_NET=pigeons exchanged 2 1
grep -q "TERN_NET is 'pigeons'; there are tcp, mpi and ucx" rank.0 rank.1 || die "$(cat rank.*)"
TERN_NET=mpi exchanged 2 1
grep -q "neither mpirun of Open MPI nor mpiexec of MPICH" rank.0 || die "$(cat rank.*)"
grep -q "neither mpirun of Open MPI nor mpiexec of MPICH" rank.1 || die "$(cat rank.*)"
