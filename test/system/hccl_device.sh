#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# The device class AscendC::Hccl: the programs of test/hccl_device, compiled by `tern kernel-cc` without
# a warning and run for 1 to 8 ranks on 1 to 3 machines; the names in all dialects; and the operators of examples/hccl_device.
source "$(dirname "$0")/../support/shell.sh"
sources=$root/test/hccl_device
export TERN_TIMEOUT=60
compilers=(g++)
! command -v clang++ >/dev/null || [ "${TERN_TEST_CLANG:-yes}" = no ] || compilers+=(clang++)

for compiler in "${compilers[@]}"; do
    for standard in 11 14 17 20; do
        expect 0 '' "$compiler" -std=c++$standard -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
            -I"$root/include" -I"$root/include/faces" "$sources/names.cpp"
    done
done

for program in gather kinds rules order; do
    expect 0 '' "$tern" kernel-cc -O1 -Wall -Wextra -Wshadow -Werror "$sources/$program.cpp" -o $program
    for machines in 1 2 3; do
        TERN_TEST_MACHINES=$machines expect 0 '' ./$program
        [ ! -s said ] || die "$program on $machines machines is not silent: $(head -3 said)"
    done
done

# Behind a barrier, bytes that needed longer than all calls. The sending host's buffers take a put whole.
status=0
lab=$("$build/bin/netlab" --for $$ wire 2 1 20000 2>said) || status=$?
if [ $status -eq 0 ]; then
    "$lab/rsh" tn0 "echo 4096 4194304 4194304 >/proc/sys/net/ipv4/tcp_wmem"
    server() {
        echo "{\"server_id\": \"$1\", \"device\": [{\"device_id\": \"0\", \"rank_id\": \"$2\"},
            {\"device_id\": \"1\", \"rank_id\": \"$3\"}]}"
    }
    echo "{\"version\": \"1.0\", \"status\": \"completed\", \"server_count\": \"2\", \"server_list\": [
        $(server 10.77.0.1 0 1), $(server 10.77.0.2 2 3)]}" >table
    expect 0 '' "$tern" kernel-cc -O1 -Wall -Wextra -Wshadow -Werror "$sources/far.cpp" -o far
    expect 0 '' "$lab/rsh" tn0 "cd $dir; TERN_NET_TIMEOUT=60 TERN_TIMEOUT=60 timeout -s KILL 100 \
        $tern run --hosts tn0:2,tn1:2 --agent $lab/rsh --label ./far table </dev/null"
    "$lab/netlab" down
elif [ $status -eq 77 ]; then
    echo "the barrier on hosts far apart is not tried: $(<said)"
else
    die "netlab: $(<said)"
fi

# A source whose launches stand behind `extern "C"` kernels compiles with the other compiler, too.
if [ ${#compilers[@]} -eq 2 ]; then
    CXX=clang++ expect 0 '' "$tern" kernel-cc -std=c++20 -O0 -Wall -Wextra -Werror "$sources/gather.cpp" -o other
    expect 0 '' ./other
fi
for operator in all_gather_matmul matmul_all_reduce; do
    for n in 1 2 3 4 8; do
        expect 0 "hccl_$operator, $n ranks: verified" "$build/bin/hccl_$operator" "$n"
    done
    expect 2 "usage: hccl_$operator [RANKS]" "$build/bin/hccl_$operator" 9
done
echo "hccl_device.sh: ${compilers[*]}, all verified in $SECONDS s"
