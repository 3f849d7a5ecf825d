#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 400
# tern perf as a person would use it: every kind, alone and under tern run; its lines, its plot, its
# sentences; wrong results are seen and counted; the MPIs beside it, if they are installed; what an
# interrupt leaves; and that bench/run.py still makes its tables of it. Says nothing about speed.
source "$(dirname "$0")/../support/shell.sh"
# read_rows FILE EXPRESSION: the expression, over the list `rows` of JSON objects, holds
read_rows() {
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
if not eval(sys.argv[2]):
    sys.exit(f"perf.sh: {sys.argv[1]}: not so: {sys.argv[2]}\n{rows[:3]}")
PYTHON
}

kinds="all_reduce reduce_scatter all_gather broadcast reduce gather scatter all_to_all reduce_scatter_v \
all_gather_v gather_v scatter_v all_to_all_v barrier send_recv"

# Every kind, at sizes that divide badly; nothing wrong; the keys in their order.
"$tern" perf all -p 3 --sizes 1,500,100K -n 3 -w 1 -r 2 --json >all.json
read_rows all.json "list(dict.fromkeys(row['kind'] for row in rows)) == '$kinds'.split()"
read_rows all.json "all(row['errors'] == 0 and row['time_us'] > 0 for row in rows)"
read_rows all.json "list(rows[0])[:13] == 'kind nranks bytes count dtype op algo time_us time_min_us \
time_max_us algbw_GBps busbw_GBps bound_pct'.split() and list(rows[0])[13] == 'errors'"
read_rows all.json "all(row['iterations'] == 3 and row['nranks'] == 3 for row in rows)"
# What size means: 500 bytes of 3 ranks are 41 elements each, or 125; and 1 byte is one element.
read_rows all.json "[(row['bytes'], row['count']) for row in rows if row['kind'] == 'all_gather'] == \
[(12, 1), (492, 41), (102396, 8533)]"
read_rows all.json "[(row['bytes'], row['count']) for row in rows if row['kind'] == 'all_reduce'] == \
[(4, 1), (500, 125), (102400, 25600)]"
read_rows all.json "all(abs(row['algbw_GBps'] * row['time_us'] * 1e3 - row['bytes']) <= \
0.02 * row['bytes'] + 0.01 * row['time_us'] for row in rows)"
read_rows all.json "all(abs(row['busbw_GBps'] - row['algbw_GBps'] * 4 / 3) < 0.001 for row in rows \
if row['kind'] == 'all_reduce')"

# Other buffers, dtypes, orders; ranks that another launcher of ours has started.
"$tern" perf all -p 4 --sizes 8,9000 -n 2 --window no -d half --json >other.json
read_rows other.json "all(row['errors'] == 0 and row['window'] is False for row in rows)"
"$tern" perf all -p 5 --sizes 8,9000 -n 2 --in-place -d i16 -o max --json >place.json
read_rows place.json "len({row['kind'] for row in rows}) == 8 and all(row['errors'] == 0 for row in rows)"
"$tern" perf all_reduce -p 4 -e 64K -f 16 -n 2 --algo ring,fused -d bf16 --json >algos.json
read_rows algos.json "[row['algo'] for row in rows] == ['ring', 'fused'] * 4"
read_rows algos.json "all(row['errors'] == 0 for row in rows)"
for op in prod avg minloc maxloc; do
    expect 0 " $op " "$tern" perf all_reduce -p 3 --sizes 3000 -n 1 -o $op
done
"$tern" run -n 3 "$tern" perf scatter -b 8 -i 8 -e 24 -n 2 -c 0 --json >run.json
read_rows run.json "len(rows) == 2 and all(row['nranks'] == 3 and row['errors'] is None for row in rows)"
expect 0 "# 1 rank," "$tern" perf reduce -p 1 --sizes 64 -n 2 --verbose

# What the simulator says, of what it knows; costs that were not measured are a sentence.
cat >costs <<'END'
tern-tune 1
cost ranks 2 processors 2 begin 100 meet 400 op 30 post 60 wake 0
rate 65536 copy 10000 fresh 10000 reduce 5000 5000 10000 10000
END
TERN_TUNE=costs "$tern" perf all -p 2 --sizes 64,100K -n 2 -c 0 --compare sim --json >sim.json
read_rows sim.json "all((row['sim_us'] is None) == (row['kind'].endswith('_v') or row['kind'] == 'send_recv') \
for row in rows)"
read_rows sim.json "[row for row in rows if row['kind'] == 'all_reduce'][1]['sim_us'] > 20"
TERN_TUNE=costs expect 0 "# The simulator is " "$tern" perf all_reduce -p 2 --sizes 64,100K -n 2 --compare sim
TERN_TUNE=costs "$tern" perf all_gather -p 2 --sizes 8M -n 2 --window no --compare sim --json >pieces.json
read_rows pieces.json "rows[0]['way'] == 'staged/direct' and rows[0]['sim_us'] > 1000"
TERN_TUNE= expect 1 "'tern tune -p 3' does that" "$tern" perf all_reduce -p 3 --sizes 64 --compare sim
expect 2 "'send' cannot be measured; send_recv can" "$tern" perf send
expect 2 ", recv, send_recv, and all" "$tern" perf allreduce
expect 2 "takes openmpi, mpich and sim" "$tern" perf all_reduce --compare simulator

# The plot is well-formed, with a panel for time and one for bandwidth.
"$tern" perf all_reduce -p 2 --sizes 8,4K,64K -n 2 --algo ring,fused --plot plot.svg >/dev/null
python3 - <<'PYTHON' || die "plot.svg is not as it should be"
import xml.etree.ElementTree as tree
root = tree.parse("plot.svg").getroot()
texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
lines = len(list(root.iter("{http://www.w3.org/2000/svg}polyline")))
wanted = {"time, us", "bus bandwidth, GB/s", "tern, ring", "tern, fused"}
assert wanted <= set(texts) and lines == 4, (texts, lines)
PYTHON

# Wrong usage: a sentence each, before anything is started.
expect 2 "which KIND" "$tern" perf
expect 2 "(did you mean 'all_reduce'?)" "$tern" perf all_redduce
expect 2 "only one KIND" "$tern" perf reduce gather
expect 2 "-p takes a number from 1 to 64" "$tern" perf reduce -p 65
expect 2 "-b takes a size above 0" "$tern" perf reduce -b 8Q
expect 2 "is more than -e 8" "$tern" perf reduce -b 16 -e 8
expect 2 "exclude each other" "$tern" perf reduce -f 2 -i 8
expect 2 "'f8' is no dtype" "$tern" perf reduce -d f8
expect 2 "'median' is no operation" "$tern" perf reduce -o median
expect 2 "xor of f32 does not exist" "$tern" perf reduce -o xor
expect 2 "the ranks are 0 to 1" "$tern" perf reduce -p 2 -r 2
expect 2 "send_recv cannot be done in place" "$tern" perf send_recv --in-place
expect 2 "there is no algorithm 'best'" "$tern" perf reduce -p 2 --algo best
expect 2 "not in the order of the ranks" "$tern" perf all_reduce -p 2 --algo ring --order rank
expect 2 "the number of ranks is -p" "$tern" perf reduce -g 2
expect 2 "cannot write" "$tern" perf reduce --plot "$dir/missing/plot.svg"
expect 2 "leave -p away" "$tern" run -n 2 "$tern" perf reduce -p 3
expect 0 "Size is the larger of a rank's input and output" "$tern" perf --help
expect 1 "Debian's packages are openmpi-bin" env PATH="$dir" "$tern" perf reduce -p 2 --compare openmpi
expect 0 "sizes from 512 GiB on are left out" "$tern" perf reduce -p 2 --sizes 8,512G -n 1

status=0
"$tern" perf reduce -p 2 --sizes 8 -n 1 >/dev/full 2>said || status=$?
[ $status -eq 1 ] && grep -q "cannot be written" said || die "a full disk: exit status $status"

# Wrong results are seen, each for what it is. A library in front of ours spoils them.
cat >liar.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "tern/coll.h"

int tern_coll_run(tern_comm *comm, const tern_coll *call)
{
    int (*run)(tern_comm *, const tern_coll *) = dlsym(RTLD_NEXT, "tern_coll_run");
    static int calls;
    const char *lie = getenv("LIE");
    int rank = tern_comm_rank(comm);
    tern_coll other = *call;
    char *out = call->out;
    if (strcmp(lie, "order") == 0) { // a sum in another order
        other.order = TERN_ORDER_ANY;
        other.algorithm = "ring";
    }
    int status = run(comm, &other);
    calls++;
    if (rank == 1 && strcmp(lie, "first") == 0 && calls == 1) {
        out[4 * 7] ^= 1;
    } else if (rank == 2 && strcmp(lie, "last") == 0 && calls > 1) {
        out[4 * 8] ^= 1;
        out[4 * 9] ^= 1;
    } else if (rank == 0 && strcmp(lie, "beyond") == 0) {
        out[4 * call->count] ^= 1;
    } else if (rank == 0 && strcmp(lie, "short") == 0) {
        memset(out + 4 * (call->count - 1), 0xa5, 4); // never written
    } else if (rank == 0 && strcmp(lie, "input") == 0) {
        *(char *)(size_t)call->in ^= 1;
    }
    return status;
}
SOURCE
${CC:-cc} -shared -fPIC -I"$root/include" -o liar.so liar.c -ldl
# lie WHAT LEAST: at least so many errors and exit status 1
lie() {
    local status=0
    LIE=$1 LD_PRELOAD="$dir/liar.so" "$tern" perf all_reduce -p 3 --sizes 4000 -w 0 -n 1 --json \
        >lie.json 2>said || status=$?
    [ $status -eq "$([ "$2" -gt 0 ] && echo 1 || echo 0)" ] || die "lie $1: exit status $status"
    read_rows lie.json "${3:-rows[0]['errors'] == $2}"
}
lie nothing 0
lie first 1
lie last 2
lie beyond 2
lie short 2
lie input 2
lie order 100 "rows[0]['errors'] > 100"
# Both calls on each pair of buffers are checked.
status=0
LIE=beyond LD_PRELOAD="$dir/liar.so" "$tern" perf all_reduce -p 3 --sizes 4000 -w 0 -n 1 --json \
    --buffers 3 >lie.json || status=$?
[ $status -eq 1 ] || die "lie beyond, three pairs: exit status $status"
read_rows lie.json "rows[0]['errors'] == 6 and rows[0]['buffers'] == 3"

# Calls in a row, and buffers in turn.
"$tern" perf all -p 3 --sizes 40,5000 -n 50 --back-to-back --buffers 4 --json >turns.json
read_rows turns.json "len(rows) == 29 and all(row['errors'] == 0 and row['buffers'] == 4 \
and row['calls_together'] == 20 and row['iterations'] == 60 for row in rows)"
expect 2 "--buffers takes a number from 1 to 64" "$tern" perf reduce --buffers 65

# How an iteration begins; and a rank that dies while others wait for it to begin is named.
"$tern" perf all_reduce -p 3 --sizes 40 -n 20 --json >start.json
read_rows start.json "rows[0]['start'] == 'clock' and rows[0]['errors'] == 0"
"$tern" perf all_reduce -p 3 --sizes 40 -n 20 --json --start barrier >start.json
read_rows start.json "rows[0]['start'] == 'barrier' and rows[0]['errors'] == 0"
expect 2 "--start takes 'clock' or 'barrier', not 'gun'" "$tern" perf reduce --start gun
for start in clock barrier; do
    "$tern" perf all_reduce -p 3 --sizes 8 -n 100000 -w 0 --budget 60 --start $start >kill.out 2>&1 &
    job=$!
    victim=
    for ((i = 0; i < 200 && ${#victim} == 0; i++)); do
        sleep 0.05
        victim=$(pgrep -P "$(pgrep -P $job | head -1)" 2>/dev/null | head -1 || true)
    done
    kill -9 "$victim"
    status=0
    wait $job || status=$?
    [ $status -ne 0 ] && grep -q "was killed by signal 9" kill.out ||
        die "$start: exit status $status: $(cat kill.out)"
done

# An interrupt ends it and leaves neither a process nor a file, while it starts and while it measures.
cat >interrupt.py <<'PYTHON'
import os, signal, subprocess, sys, time
delay, start = float(sys.argv[1]), sys.argv[2:]
def left():
    return {name for folder in (os.environ["TMPDIR"], "/dev/shm") for name in os.listdir(folder)
            if "tern-perf" in name or folder != "/dev/shm" and ("ompi" in name or "vader" in name)}
before = left()
signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored in what a shell runs behind it
command = [*start, "perf", "all_reduce", "--sizes", "8,1M,8M", "-n", "20000"] + os.environ["COMPARE"].split()
job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
time.sleep(delay)
job.send_signal(signal.SIGINT)
begin = time.monotonic()
job.communicate(timeout=60)
seconds = time.monotonic() - begin
for attempt in range(50): # others may be starting MPIs now, and remove their folders
    time.sleep(0.2)
    if left() <= before:
        break
marks = [name for name in os.listdir("/proc") if name.isdigit()]
mine = []
for pid in marks:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            mine += [pid] if f"PERF_TEST={os.environ['PERF_TEST']}".encode() in file.read() else []
    except OSError:
        pass
mine = [pid for pid in mine if int(pid) not in (os.getpid(), os.getppid())]
# Before it has a handler, the signal itself ends it; to a shell that is 130 too.
assert job.returncode in (130, -signal.SIGINT) and seconds < 30, (job.returncode, seconds)
assert not mine and left() <= before, (mine, left() - before)
PYTHON
export TMPDIR=$dir OMPI_MCA_btl_vader_backing_directory=$dir PERF_TEST=$$ COMPARE=
compare=()
if command -v mpicc.openmpi >/dev/null && command -v mpicc.mpich >/dev/null; then
    compare=(--compare openmpi,mpich)
    COMPARE="--compare openmpi,mpich"
fi
for delay in 0.1 0.6 4; do
    python3 interrupt.py $delay "$tern"
    python3 interrupt.py $delay "$tern" run -n 2 "$tern"
done

# The MPIs beside it.
if [ ${#compare[@]} -gt 0 ]; then
    "$tern" perf all_reduce -p 2 --sizes 5000 -n 40 --json --back-to-back --buffers 3 \
        "${compare[@]}" >peers.json
    read_rows peers.json "rows[0]['errors'] == 0 and rows[0]['openmpi_iterations'] == 40"
    "$tern" perf all -p 2 --sizes 8,5000 --budget 0.01 --json "${compare[@]}" >peers.json
    read_rows peers.json "len(rows) == 29 and all(row['errors'] == 0 and row['openmpi_us'] > 0 \
and row['mpich_us'] > 0 and row['mpich_ratio'] > 0 and row['openmpi_iterations'] >= 3 for row in rows)"
    expect 0 "MPI has no f16" "$tern" perf reduce -p 2 --sizes 8 -n 1 -d f16 "${compare[@]}"
    "$tern" perf all_to_all -p 2 --sizes 64 -n 1 --in-place --json "${compare[@]}" >peers.json
    read_rows peers.json "rows[0]['errors'] == 0 and rows[0]['openmpi_us'] > 0"
fi

# An MPI that is more than ten times slower than tern is asked once, and not given the whole budget;
# one that is not is asked in all three rounds. This one answers what it is told to.
mkdir -p mpi
cat >mpi/mpicc.openmpi <<'SCRIPT'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat >/dev/null
cp "$FAKE" "$2"
SCRIPT
cat >mpi/mpirun.openmpi <<'SCRIPT'
#!/bin/sh
while [ "$1" != -n ]; do shift; done
for rank in $(seq 0 $(($2 - 1))); do "$3" "$4" "$rank" & done
wait
SCRIPT
cat >mpi/fake <<'PYTHON'
#!/usr/bin/env python3
import os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
    asker.connect("\0" + sys.argv[1])
    asker.send(sys.argv[2].encode())
    while question := asker.recv(256):
        if sys.argv[2] == "0":
            with open("asked", "ab") as asked:
                asked.write(question + b"\n")
            asker.send(b"ok 3 " + os.environ["ANSWER_US"].encode() + b" 1 1")
PYTHON
chmod +x mpi/*
for answer in 0.001/3 1e9/1; do
    rm -f asked
    FAKE=mpi/fake ANSWER_US=${answer%/*} PATH=$PWD/mpi:$PATH \
        "$tern" perf reduce -p 2 --sizes 64 --budget 3600 --compare openmpi >/dev/null
    [ "$(wc -l <asked)" -eq "${answer#*/}" ] || die "an MPI of $answer us: $(cat asked)"
    awk '$NF >= 1200e6 { exit 1 }' asked || die "all of the budget: $(cat asked)"
done

# The benchmark's tables.
python3 "$root/bench/run.py" --quick --only collectives --no-peers --build "$build" --output results.md \
    >/dev/null 2>said || die "bench/run.py: $(tail -3 said)"
for kind in $kinds; do
    grep -q "^### $kind\$" results.md || die "results.md has no table of $kind"
done
python3 - "$root/bench" <<'PYTHON' || die "the parts of --every-size"
import sys
sys.path.insert(0, sys.argv[1])
import collectives
for nranks in collectives.RANKS:
    parts = collectives.parts_of(nranks, True, None, list(collectives.PEERS))
    sizes = [int(size) for part in parts for size in part[0].split(",")]
    assert sorted(sizes) == collectives.EVERY_SIZE + collectives.LARGE_SIZES[nranks], sizes
    assert all((options == []) == (int(some.split(",")[0]) < 64 << 20) for some, options, _ in parts)
rows = [{"kind": kind, "bytes": size, "run": run} for run, sizes in ((1, (8, 64)), (2, (8, 16)))
        for kind in ("reduce", "gather") for size in sizes]
assert [(row["kind"], row["bytes"], row["run"]) for row in collectives.join_parts(rows)] == [
    ("reduce", 8, 1), ("reduce", 16, 2), ("reduce", 64, 1),
    ("gather", 8, 1), ("gather", 16, 2), ("gather", 64, 1)]
PYTHON
echo "every kind is measured and checked"
