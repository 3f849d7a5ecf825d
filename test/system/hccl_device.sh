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
