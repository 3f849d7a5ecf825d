#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 400
# The matrix of collective calls (src/coll/call/test/matrix.c) between machines, with each engine
# that is built: every result has the bits of the reference, as on one machine. TERN_TEST_LONG=1
# walks all shapes (machines x ranks), TERN_TEST_SCALE says how many samples each has.
source "$(dirname "$0")/../support/shell.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 UCX_LOG_LEVEL=fatal
export TERN_TIMEOUT=100 TERN_TEST_SCALE=${TERN_TEST_SCALE:-1}
export TERN_TEST_SEED=${TERN_TEST_SEED:-$RANDOM}
echo "TERN_TEST_SEED=$TERN_TEST_SEED"
matrix=$build/bin/test_coll_call_matrix
shapes=("2 2")
[ -z "${TERN_TEST_LONG:-}" ] || shapes=("2 2" "2 3" "3 1" "4 2")

# A rank under a launcher: its machine.
cat >placed <<'EOF'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$TERN_TEST_RANK}}
export TERN_MACHINE=m$((rank / $1)) TERN_NET_ADDRESS=127.0.0.1
shift
exec "$@"
EOF
chmod +x placed

# exchanged RANKS EACH: ranks that meet in a folder.
exchanged() {
    local rank pids=() status=0
    for ((rank = 0; rank < $1; rank++)); do
        TERN_TEST_RANK=$rank TERN_EXCHANGE=$rank:$1:$dir/meet ./placed "$2" "$matrix" &
        pids+=($!)
    done
    for rank in "${!pids[@]}"; do
        wait "${pids[rank]}" || status=$?
    done
    return $status
}

openmpi() {
    mpirun.openmpi -n "$1" ./placed "$2" "$matrix"
}

mpich() {
    mpiexec.hydra -n "$1" ./placed "$2" "$matrix"
}

# walk ENGINE STARTER
walk() {
    local shape
    for shape in "${shapes[@]}"; do
        read -r machines each <<<"$shape"
        export TERN_TEST_RANKS=$((machines * each)) TERN_NET=$1
        SECONDS=0
        "$2" "$TERN_TEST_RANKS" "$each" >said 2>&1 ||
            die "$1 by $2, $machines machines of $each: $(grep -v '^TERN_TEST_SEED' said | head)"
        echo "$1 by $2, $machines x $each: $(grep 'calls are right' said) (${SECONDS} s)"
        [ ! -e meet ] || die "the folder of the exchange is left"
    done
}
walk tcp exchanged
[ ! -e "$build/lib/libtern_net_ucx.so" ] || walk ucx exchanged
for launcher in mpirun.openmpi mpiexec.hydra; do
    mpi=${launcher#mpirun.}
    [ "$mpi" = openmpi ] || mpi=mpich
    if [ -e "$build/lib/libtern_net_mpi_$mpi.so" ] && command -v "$launcher" >/dev/null; then
        walk mpi "$mpi"
    fi
done
