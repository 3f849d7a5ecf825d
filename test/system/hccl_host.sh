#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ctest-timeout: 120
# The host program for HCCL in examples/ runs under `tern run`, and with each MPI that there is; also on several
# machines.
source "$(dirname "$0")/../support/shell.sh"
bin=$build/bin

for n in 1 2 3 5 8; do
    expect 0 "$n ranks have made 14 calls of HCCL, and every element is right" \
        env TMPDIR="$dir" "$tern" run -n "$n" "$bin/hccl_host"
done
for hosts in localhost:1,localhost:1 localhost:2,localhost:1,localhost:2; do
    n=$(($(tr , + <<<"${hosts//localhost:/}")))
    expect 0 "$n ranks have made 14 calls of HCCL, and every element is right" \
        env TMPDIR="$dir" TERN_TIMEOUT=60 TERN_LOG=info "$tern" run --hosts "$hosts" "$bin/hccl_host" \
        "$dir/hccl_host-info" </dev/null
    grep -qE 'met at [0-9.]+:[0-9]+' said || die "$hosts: not by the network: $(cat said)"
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
    expect 0 "3 ranks have made 14 calls" env TERN_NET_ADDRESS=127.0.0.1 HCCL_IF_IP=127.0.0.1 TERN_TIMEOUT=60 \
        "mpirun.$mpi" "${options[@]}" -n 2 env TERN_MACHINE=a ./with_mpi : -n 1 env TERN_MACHINE=b ./with_mpi
    tried=$((tried + 1))
done
if [ "$tried" -eq 0 ]; then
    echo "skipped: there is no MPI; under tern run all was right"
    exit 77
fi
