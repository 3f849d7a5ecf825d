#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 200
# tern perf in the styles of hccl_test and nccl-tests: options as they are typed there, lines as scripts
# read them, sizes as they are meant, what is ignored and what is refused. Says nothing about speed.
source "$(dirname "$0")/../support/shell.sh"
# line FILE NUMBER PATTERN: that line is all of that pattern
line() {
    local got
    got=$(sed -n "$2p" "$1")
    grep -qE "^$3\$" <<<"$got" || die "$1, line $2 is '$got', not '$3'"
}
number='[0-9]+\.[0-9]+'

"$tern" perf all_reduce_test --style hccl_test -p 3 -b 1K -e 4K -i 1536 -d fp32 -o sum -n 3 -w 1 -c 1 >hccl
line hccl 1 'the minbytes is 1024, maxbytes is 4096, iters is 3, warmup_iters is 1'
line hccl 2 'data_size\(Bytes\):  \| aveg_time\(us\):  \| alg_bandwidth\(GB/s\):  \| check_result:'
line hccl 3 "1024 \\| $number \\| $number \\| success"
line hccl 4 "2560 \\| $number \\| $number \\| success"
line hccl 5 "4096 \\| $number \\| $number \\| success"
[ "$(wc -l <hccl)" -eq 5 ] || die "$(cat hccl)"
python3 - <<'PYTHON' || die "$(cat hccl)"
for line in open("hccl").read().splitlines()[2:]:
    size, time, bandwidth, _ = line.split(" | ")
    assert abs(float(size) / float(time) * 1e-3 - float(bandwidth)) < 1e-5 + 0.01 * float(bandwidth), line
PYTHON

# Ten steps from -b to -e; a size is that of a device; nothing checked; a pattern that would overflow.
"$tern" perf alltoall_test --style hccl_test -p 2 -b 100 -e 1100 -d int8 -n 1 -c 0 >hccl
[ "$(tail -n +3 hccl | cut -d' ' -f1 | tr '\n' ' ')" = "100 200 300 400 500 600 700 800 900 1000 1100 " ] ||
    die "$(cat hccl)"
line hccl 3 "100 \\| $number \\| $number \\| NULL"
"$tern" perf reduce_scatter --style hccl_test -p 12 -b 48 -e 48 -d int8 -n 1 >hccl
line hccl 3 "48 .* NULL"
"$tern" perf reduce_scatter --style hccl_test -p 11 -b 48 -e 48 -d int8 -n 1 >hccl
line hccl 3 "48 .* success"
"$tern" perf all_reduce --style hccl_test -p 7 -b 64 -e 64 -d int8 -o prod -n 1 >hccl
line hccl 3 "64 .* NULL"
"$tern" perf all_reduce --style hccl_test -p 2 --sizes 1K,1M -n 1 -w 0 >hccl
line hccl 1 'the minbytes is 1024, maxbytes is 1048576, .*'
[ "$(grep -c mean hccl)" -eq 0 ] || die "a mean of two sizes: $(cat hccl)"

# Both halves of a line; shares of 16 bytes; -t and -g; one warning for all that means nothing.
"$tern" perf all_gather_perf --style nccl-tests -t 1 -g 3 -b 1K -e 3K -f 3 -n 2 -w 1 -m 4 -a 1 -z 0 >nccl 2>said
[ "$(cat said)" = "tern perf: -m, -a, -z: of no meaning here, ignored" ] || die "$(cat said)"
grep -q '#  *size  *count  *type  *redop  *root  *time  *algbw  *busbw  *#wrong  *time  *algbw  *busbw  *#wrong' nccl ||
    die "$(cat nccl)"
half=" +[0-9.]+ +$number +$number +0"
grep -qE "^ +1008 +84 +float +none +-1$half$half\$" nccl || die "$(cat nccl)"
grep -qE "^ +3072 +256 +float +none +-1$half$half\$" nccl || die "$(cat nccl)"
grep -qE '^# Avg bus bandwidth    : [0-9.e+-]+$' nccl || die "$(cat nccl)"
grep -qF '# Out of bounds values : 0 OK' nccl || die "$(cat nccl)"
"$tern" perf broadcast --style nccl-tests -p 2 -b 64 -e 64 -r 1 -d half -n 1 -c 0 >nccl
grep -qE "^ +64 +32 +half +none +1 .*N/A .*N/A\$" nccl || die "$(cat nccl)"
"$tern" perf sendrecv_perf --style nccl-tests -p 2 -b 64 -e 64 -n 1 >nccl
grep -qE "N/A +N/A +N/A +N/A\$" nccl || die "$(cat nccl)"
"$tern" run -n 2 "$tern" perf all_reduce --style nccl-tests -b 64 -e 64 -n 1 -T 9 >nccl 2>said
[ "$(wc -l <said)" -eq 1 ] || die "$(cat said)"

# refuse TEXT OPTIONS
refuse() {
    local text=$1 status=0
    shift
    "$tern" perf "$@" >said 2>&1 || status=$?
    [ "$status" -eq 2 ] || die "$*: exit status $status: $(cat said)"
    grep -qF -- "$text" said || die "$* does not say '$text': $(cat said)"
}
refuse "takes tern, hccl_test or nccl-tests, not 'osu'" all_reduce --style osu
refuse "there is no option '-m'" all_reduce -m 2
refuse "there is no option '-T'" all_reduce --style hccl_test -T 2
refuse "there is no option '-t'" all_reduce --style hccl_test -t 2
refuse "these are 4096 ranks" all_reduce --style nccl-tests -t 64 -g 64
refuse "has lines of its own" all_reduce --style hccl_test --json
refuse "one kind that has a size" barrier --style nccl-tests
refuse "one kind that has a size" all --style hccl_test
refuse "-i takes a size above 0" all_reduce --style hccl_test -i 0
