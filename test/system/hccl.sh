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

# docs/hccl.md has a row for every result: those that a call returns, each of which a test awaits, and then
# those that no source returns.
page=$root/docs/hccl.md
split=$(grep -n '^| result | why not |' "$page" | cut -d: -f1)
for result in $(grep -oE '\bHCCL_E_[A-Z_]+ =' "$root/include/faces/hccl/hccl_types.h" | sed 's/ =//; /RESERVED/d'); do
    row=$(grep -n "^| \`$result\` |" "$page" | cut -d: -f1)
    [[ "$row" =~ ^[0-9]+$ ]] || die "$page must have one row for $result, not: '$row'"
    if [ "$row" -lt "$split" ]; then
        grep -rqE "== $result\b|, $result\b|!= $result\b" "$root/src/faces/hccl/test" "$root/test/executors" ||
            die "no test awaits $result"
    else
        ! grep -rnw "$result" "$root/src/faces" "$root/include/faces" --include='*.[ch]' |
            grep -vE '/(error\.c|hccl_types\.h|test/)' || die "$page says that nothing returns $result"
    fi
done

expect 0 'HcclAllReduce_8B_adds' "$tern" run -n 2 "$build/bin/bench_hccl" 40
