#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The host program for HCCL in examples/ runs under `tern run`, and with each MPI that there is.
source "$(dirname "$0")/../support/shell.sh"
bin=$build/bin

for n in 1 2 3 5 8; do
    expect 0 "$n ranks have made 14 calls of HCCL, and every element is right" \
        env TMPDIR="$dir" "$tern" run -n "$n" "$bin/hccl_host"
done
[ -z "$(find "$dir" -name 'hccl_host-*' -o -name 'tern-hccl*')" ] || die "a file was left behind"
expect 1 'start me with' env -u TERN_RANK "$bin/hccl_host"

tried=0
for mpi in openmpi mpich; do
    command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null || continue
    "mpicc.$mpi" -DUSE_MPI -I"$root/include" -I"$root/include/faces" \
        "$root/examples/hccl_host/main.c" -L"$build/lib" -ltern -Wl,-rpath,"$build/lib" -o with_mpi ||
        die "mpicc.$mpi does not compile the example"
    options=()
    [ $mpi = mpich ] || options=(--allow-run-as-root --oversubscribe)
    for n in 1 3 4; do
        expect 0 "$n ranks have made 14 calls" "mpirun.$mpi" "${options[@]}" -n "$n" ./with_mpi
    done
    tried=$((tried + 1))
done
if [ "$tried" -eq 0 ]; then
    echo "skipped: there is no MPI; under tern run all was right"
    exit 77
fi
