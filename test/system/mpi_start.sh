#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# A program with tern_init alone is a job of all processes that mpirun (Open MPI, by PMIx) or mpiexec
# (MPICH, by PMI-1) has started, with no option; also beside the program's own use of MPI. Skipped
# where there is neither.
source "$(dirname "$0")/../support/shell.sh"
export TMPDIR=$dir # where no other job puts its sockets
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TERN_TIMEOUT=60
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
source=$root/test/system/mpi_start.c
link=(-I"$root/include" -L"$build/lib" -ltern -Wl,-rpath,"$build/lib")
${CC:-cc} "$source" -o plain "${link[@]}"

# starts MPI LAUNCHER N PROGRAM [WORD]: as many lines as ranks, each with their number.
starts() {
    local launcher=$1 ranks=$2
    shift 2
    expect 0 "$ranks ranks" timeout 100 "$launcher" -n "$ranks" "$@"
    [ "$(grep -c "^$ranks ranks" said)" -eq "$ranks" ] || die "$launcher $ranks: $(head -3 said)"
}

walk() {
    local launcher=$1 compiler=$2 ranks
    command -v "$launcher" >/dev/null || return 0
    found=yes
    for ranks in 1 3; do
        starts "$launcher" "$ranks" ./plain
    done
    if command -v "$compiler" >/dev/null; then
        "$compiler" -DWITH_MPI "$source" -o with "${link[@]}"
        starts "$launcher" 2 ./with before
        starts "$launcher" 2 ./with after
    fi
}
found=no
walk mpirun.openmpi mpicc.openmpi
walk mpiexec.hydra mpicc.mpich
if [ $found = no ]; then
    echo "neither mpirun.openmpi nor mpiexec.hydra is installed"
    exit 77
fi
! ls "${TMPDIR:-/tmp}"/tern-????????????????????????????????-0 2>/dev/null || die "a socket is left"

# Half a place is refused.
expect 3 'do not describe a place in a job' env PMI_FD=5 PMI_RANK=2 PMI_SIZE=2 ./plain
expect 3 'it is RANK:NRANKS:FOLDER' env TERN_EXCHANGE=1:1:/x ./plain
expect 3 'it is RANK:NRANKS:FOLDER' env TERN_EXCHANGE=0:2:here ./plain
