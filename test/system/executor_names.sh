#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# coll_comm_executor.h: every name, in C++11 to C++20, by g++ and clang++, without a warning; recorded,
# proved and run. Skipped, after g++'s part, where there is no clang++.
source "$(dirname "$0")/../support/shell.sh"
sources=$root/test/executors
flags=(-Wall -Wextra -Wpedantic -Werror -Wno-inconsistent-missing-override -I "$root/include" -I "$root/include/faces")

for compiler in g++ clang++; do
    if ! command -v $compiler >/dev/null; then
        echo "there is no $compiler"
        exit 77
    fi
    for standard in 11 14 17 20; do
        "$compiler" -std=c++$standard "${flags[@]}" -O2 -fsyntax-only "$sources/names.cpp" ||
            die "$compiler -std=c++$standard refuses a name"
    done
    "$compiler" -std=c++11 "${flags[@]}" -O2 -shared -fPIC "$sources/names.cpp" -o $compiler.so \
        -L "$build/lib" -ltern -Wl,-rpath,"$build/lib"
    "$tern" plan all_reduce --executor ./$compiler.so --topo mesh:2 --bytes 4096 -o names.plan
    expect 0 "proved for 2 ranks" "$tern" check names.plan --topo mesh:2
    expect 0 "right on all ranks" "$tern" exec names.plan -n 2 --runs 2 --dtype i32
done
