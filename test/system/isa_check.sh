#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
#
# Checking mode of kernels: each wrong kernel of test/pto_check/wrong.cpp is reported at its marked line, by
# the stream's status too; its right twin runs in silence. Without the mode nothing is reported.
source "$(dirname "$0")/../support/shell.sh"

source_file=$root/test/pto_check/wrong.cpp
if ! command -v addr2line >/dev/null; then
    echo "skipped: addr2line, which finds lines, is not installed (package binutils)"
    exit 77
fi
"$tern" kernel-cc -g -O1 -Wall -Wextra -Werror "$source_file" -o wrong

# Runs a kernel in checking mode: output in $out, status in $rc.
check() {
    rc=0
    out=$(TERN_ISA_CHECK=1 TERN_TIMEOUT=${seconds:-60} "$tern" run -n 2 ./wrong "$@" 2>&1) || rc=$?
}

count=0
for name in $(./wrong list); do
    lines=$(grep -n "WRONG: $name\$" "$source_file" | cut -d: -f1)
    [ -n "$lines" ] || die "no line of wrong.cpp is marked for $name"
    # These wait for what never comes.
    case $name in
    notify_the_other | as_many_as_are_waited_for) seconds=3 ;;
    *) seconds=60 ;;
    esac
    for seed in 1 2; do
        export TERN_ISA_SEED=$seed
        check wrong "$name"
        [ $rc -ne 0 ] || die "$name: no kernel failed: $out"
        found=no
        for line in $lines; do
            if grep -q "wrong\.cpp:$line\b" <<<"$out"; then found=yes; fi
        done
        [ $found = yes ] || die "$name: line $lines is not in: $out"
        seconds=60
        check right "$name"
        [ $rc -eq 0 ] && [ -z "$out" ] || die "$name, the right one: status $rc, $out"
        [ "$name" != notify_the_other ] && [ "$name" != as_many_as_are_waited_for ] || break
    done
    count=$((count + 1))
done
[ $count -ge 20 ] || die "only $count kernels"

# Ranks on two machines. There a rank's own instructions do not reach single elements of another.
for name in credit_before_reuse get_after_the_notify put_to_whom_it_tells; do
    line=$(grep -n "WRONG: $name\$" "$source_file" | cut -d: -f1 | head -1)
    TERN_ISA_CHECK=1 expect 3 "wrong.cpp:$line: kernel 'kernel', block 0: " \
        "$tern" run --hosts localhost:1,localhost:1 ./wrong wrong "$name"
    TERN_ISA_CHECK=1 expect 0 '' "$tern" run --hosts localhost:1,localhost:1 ./wrong right "$name"
    [ ! -s said ] || die "$name, the right one on two machines: $(head -3 said)"
done

# What a wait in vain says.
seconds=2
check wrong as_many_as_are_waited_for
grep -q "wanted >= 2.*block 0 of kernel 'kernel', at wrong.cpp:[0-9]*; last notified by rank [01] at wrong.cpp" \
    <<<"$out" || die "a wait in vain does not say who notified last: $out"

# A thread of a program that does not ask for the mode has no memory for it: the library's variables
# of a thread are small.
bytes=$(readelf -lW "$build/lib/libtern.so" | awk '$1 == "TLS" { print $6 }')
[ -n "$bytes" ] && [ $((bytes)) -le 4096 ] || die "each thread has $((bytes)) bytes of the library"

# Words that there are not.
unset TERN_ISA_SEED
TERN_ISA_SEED=many expect 1 "TERN_ISA_SEED is 'many'; it must be a number from 0 on" \
    "$tern" run -n 2 ./wrong right tiles_apart
TERN_CHIP=a4 expect 1 "TERN_CHIP is 'a4'; it must be a2a3 or a5" "$tern" run -n 2 ./wrong right tiles_apart

# Off.
out=$("$tern" run -n 2 ./wrong wrong tiles_apart 2>&1) || die "without the mode: $out"
[ -z "$out" ] || die "without the mode: $out"

# --isa-check: on without the variable, and off by it.
"$tern" kernel-cc --isa-check -O0 "$source_file" -o checked
rc=0
out=$("$tern" run -n 2 ./checked wrong tiles_apart 2>&1) || rc=$?
[ $rc -ne 0 ] && grep -q 'tern check: wrong\.cpp:[0-9]*: ' <<<"$out" || die "--isa-check: $rc, $out"
out=$(TERN_ISA_CHECK=0 "$tern" run -n 2 ./checked wrong tiles_apart 2>&1) || die "--isa-check, off: $out"

# Without lines: the place in the program, and none of the C library.
"$tern" kernel-cc -g0 -O0 "$source_file" -o wrong
seconds=60
check wrong barrier_before_notify
[ $rc -ne 0 ] && grep -q 'tern check: wrong+0x.*compile with -g' <<<"$out" || die "-g0: $rc, $out"
echo "$count kernels"
