#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The headers of HCCL's host API and of ACL in every language that its programs are written in, with every
# compiler that there is; and a program that is linked with the shared library.
source "$(dirname "$0")/../support/shell.sh"

flags=(-Wall -Wextra -Wpedantic -Werror -I"$root/include" -I"$root/include/faces")
tried=0
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    for names in "$root"/test/hccl/*.c; do
        for language in c11 c17 c++11 c++14 c++17; do
            case $language in c++*) as=c++ ;; *) as=c ;; esac
            "$compiler" -std="$language" -x "$as" "${flags[@]}" -c "$names" -o names.o ||
                die "$compiler -std=$language does not compile $names"
            tried=$((tried + 1))
        done
        "$compiler" names.o -L"$build/lib" -ltern -Wl,-rpath,"$build/lib" -o names ||
            die "$compiler does not link"
        expect 0 'HCCL_SUCCESS' ./names
    done
done
[ "$tried" -gt 0 ] || die 'there is no compiler'

expect 0 'HcclAllReduce_8B_adds' "$tern" run -n 2 "$build/bin/bench_hccl" 40
