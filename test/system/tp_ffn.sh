#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job as its users run it: 1 to 8 ranks, both dtypes, odd shapes; saved files read back
# give the same bits; Python computes the same y from them; the trace is one that tools read; and
# wrong usage, bad files and wrong sizes end with one sentence and the right exit status.
source "$(dirname "$0")/../support/shell.sh"
tp_ffn=$build/bin/tp_ffn
if [ ! -x "$tp_ffn" ]; then
    echo "skipped: tp_ffn is not built (it needs OpenBLAS)"
    exit 77
fi

export TERN_TIMEOUT=30

# Each of 1, 2, 4 and 8 ranks divides hidden and intermediate; no rank count divides the tokens.
small=(--tokens 13 --hidden 64 --intermediate 96 --chunks 4)

die() {
    echo "tp_ffn.sh: $*" >&2
    for stream in out err; do
        [ ! -s "$dir/$stream" ] || sed "s/^/  $stream: /" "$dir/$stream" >&2
    done
    exit 1
}

# run RANKS ARGUMENTS...: sets status, and leaves $dir/out and $dir/err.
run() {
    local ranks=$1
    shift
    status=0
    "$tern" run -n "$ranks" --timeout 60 "$tp_ffn" "$@" >"$dir/out" 2>"$dir/err" || status=$?
}

expect_verified() {
    run "$@"
    [ "$status" -eq 0 ] || die "status $status instead of 0: $*"
    [ "$(tail -n 1 "$dir/out")" = verified ] || die "the last line is not 'verified': $*"
    [ ! -s "$dir/err" ] || die "something on standard error: $*"
}

# expect_failure STATUS WORDS RANKS ARGUMENTS...: that status, and one sentence with the words.
expect_failure() {
    local wanted=$1 words=$2
    shift 2
    run "$@"
    [ "$status" -eq "$wanted" ] || die "status $status instead of $wanted: $*"
    [ "$(grep -c '^tp_ffn: ' "$dir/err")" -eq 1 ] || die "not exactly one sentence: $*"
    grep '^tp_ffn: ' "$dir/err" | grep -qF -- "$words" || die "the sentence lacks '$words': $*"
    ! grep -q verified "$dir/out" || die "said 'verified': $*"
    [ "$wanted" -ne 2 ] || [ ! -s "$dir/out" ] || die "output before wrong usage: $*"
}

verifies_for_all_rank_counts() {
    local ranks dtype
    for ranks in 1 2 4 8; do
        for dtype in f32 bf16; do
            expect_verified "$ranks" "${small[@]}" --dtype "$dtype" --rounds 4
            [ "$(grep -c '^round ' "$dir/out")" -eq 4 ] || die "not four rounds"
            grep -qE '^(overlap efficiency -?[0-9]|no overlap efficiency: )' "$dir/out" ||
                die "nothing about overlap"
        done
    done
}

verifies_odd_cuts() {
    expect_verified 2 "${small[@]}" --tokens 1 --chunks 1
    expect_verified 2 --tokens 1 --hidden 64 --intermediate 96
    expect_verified 2 "${small[@]}" --chunks 13 --dtype bfloat16
    expect_verified 4 "${small[@]}" --chunks=1 --cores=2 --dtype=float32
    expect_verified 3 --tokens 5 --hidden 9 --intermediate 15 --chunks 5
    # Fewer cache lines in a chunk than ranks: some ranks sum nothing.
    expect_verified 8 --tokens 3 --hidden 8 --intermediate 8 --chunks 3 --dtype bf16
    # More tasks than rows in the rings of the graph.
    expect_verified 2 --tokens 1000 --hidden 16 --intermediate 16 --chunks 1000 --rounds 1
    expect_verified 2 --rounds 1
    status=0
    "$tp_ffn" "${small[@]}" >"$dir/out" 2>"$dir/err" || status=$?
    [ "$status" -eq 0 ] && [ "$(tail -n 1 "$dir/out")" = verified ] || die "fails without tern run"
}

# An OpenBLAS that does not know the processor is corrected by what the processor can do; a choice of
# the user's is not. The stand-in answers as such an OpenBLAS does.
corrects_old_kernels() {
    local wanted=Prescott
    ! grep -qw avx2 /proc/cpuinfo || wanted=Haswell
    ! grep -qw avx512vl /proc/cpuinfo || wanted=SkylakeX
    command -v cc >/dev/null || { echo "not tested without cc: old kernels"; return; }
    cat >"$dir/old.c" <<'EOS'
#include <stdlib.h>
char *openblas_get_corename(void);
char *openblas_get_corename(void)
{
    char *type = getenv("OPENBLAS_CORETYPE");
    return type != NULL ? type : (char *)"Prescott";
}
EOS
    cc -shared -fPIC -o "$dir/old.so" "$dir/old.c"
    if [ -z "${OPENBLAS_CORETYPE-}" ]; then
        LD_PRELOAD=$dir/old.so expect_verified 2 "${small[@]}"
        grep -q "^OpenBLAS with its $wanted kernels" "$dir/out" || die "not with $wanted kernels"
        [ "$wanted" = Prescott ] || grep -q "itself took Prescott$" "$dir/out" || die "does not say why"
    else
        echo "not tested with OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE, which this machine may need: better kernels"
    fi
    LD_PRELOAD=$dir/old.so OPENBLAS_CORETYPE=Nehalem expect_verified 2 "${small[@]}"
    grep -q "^OpenBLAS with its Nehalem kernels, from OPENBLAS_CORETYPE$" "$dir/out" ||
        die "overrules OPENBLAS_CORETYPE"
}

# What is saved and read back gives the same files, and the input does not depend on the ranks.
round_trip() {
    local dtype=$1 first=$dir/$1.first second=$dir/$1.second
    expect_verified 2 "${small[@]}" --dtype "$dtype" --seed 5 --save "$first"
    expect_verified 2 --in "$first" --dtype "$dtype" --chunks 4 --save "$second"
    diff -r "$first" "$second" >/dev/null || die "--in of what --save wrote differs ($dtype)"
    [ "$(ls "$first")" = "$(printf '%s.npy\n' w_down w_gate w_linear w_up x y)" ] ||
        die "--save wrote other files"
    rm -r "$second"
    expect_verified 4 "${small[@]}" --dtype "$dtype" --seed 5 --save "$second"
    for name in x w_linear w_gate w_up w_down; do
        cmp "$first/$name.npy" "$second/$name.npy" || die "the input depends on the ranks ($dtype)"
    done
    expect_verified 1 "${small[@]}" --dtype "$dtype" --seed 6 --save "$second"
    ! cmp -s "$first/y.npy" "$second/y.npy" || die "another seed gives the same y"
    expect_failure 2 "--save would overwrite" 2 --in "$first" --save "$first/."
}

# Computes y again, in Python's doubles, and writes variants of the input. Uses numpy to load and
# save where it is installed, so that it also proves the format; else a reader of its own.
cat >"$dir/check.py" <<'EOS'
import math, struct, sys

try:
    import numpy
except ImportError:
    numpy = None

NAMES = ("x", "w_linear", "w_gate", "w_up", "w_down")

def load(path):
    if numpy is not None:
        return numpy.load(path, allow_pickle=False).tolist()
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack("<H", data[8:10])[0]
    assert end % 64 == 0
    header = eval(data[10:end], {"__builtins__": {}})
    rows, cols = header["shape"]
    assert header["descr"] == "<f4" and header["fortran_order"] is False
    flat = struct.unpack(f"<{rows * cols}f", data[end:])
    return [list(flat[r * cols:(r + 1) * cols]) for r in range(rows)]

def save(path, matrix, descr="<f4", fortran=False, version=1):
    if numpy is not None and not fortran and version == 1:
        return numpy.save(path, numpy.array(matrix, dtype=descr))
    shape = (len(matrix), len(matrix[0]))
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    code = {"<f4": "f", "<f2": "e", "<f8": "d"}[descr]
    flat = [value for row in matrix for value in row]
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]) + length + text)
        file.write(struct.pack(f"<{len(flat)}{code}", *flat))

def product(a, b):
    columns = list(zip(*b))
    return [[math.fsum(map(float.__mul__, row, col)) for col in columns] for row in a]

def check(folder, relative):
    x, w_linear, w_gate, w_up, w_down = (load(f"{folder}/{name}.npy") for name in NAMES)
    a = product(x, w_linear)
    h = [[g / (1 + math.exp(-g)) * u for g, u in zip(gates, ups)]
         for gates, ups in zip(product(a, w_gate), product(a, w_up))]
    wanted, got = product(h, w_down), load(f"{folder}/y.npy")
    size = math.sqrt(sum(v * v for row in wanted for v in row) / (len(x) * len(x[0])))
    worst = max(abs(g - w) for row, other in zip(got, wanted) for g, w in zip(row, other))
    assert size > 0.1 and worst <= relative * size, (worst, size)

def vary(source, target):
    for name in NAMES:
        save(f"{target}/{name}.npy", load(f"{source}/{name}.npy"), "<f2", False, 3)

command, *arguments = sys.argv[1:]
if command == "check":
    check(arguments[0], float(arguments[1]))
elif command == "f16":
    vary(*arguments)
elif command == "as":
    path, descr, fortran = arguments
    save(path, load(path), descr, fortran == "fortran")
elif command == "nan":
    matrix = load(arguments[0])
    matrix[-1][3] = math.nan
    save(arguments[0], matrix)
elif command == "ranks":
    import json
    events = json.load(open(arguments[0]))
    events = events if isinstance(events, list) else events["traceEvents"]
    names = {(event["pid"] - 1, event["name"].split()[0]) for event in events if event["ph"] == "X"}
    kernels = ("linear", "ffn", "announce", "reduce", "complete")
    wanted = {(rank, name) for rank in range(int(arguments[1])) for name in kernels}
    assert wanted <= names, wanted - names
EOS

python() {
    python3 "$dir/check.py" "$@" || die "check.py $*"
}

reads_other_files() {
    mkdir "$dir/f16"
    python f16 "$dir/f32.first" "$dir/f16"
    expect_verified 4 --in "$dir/f16" --tokens 13 --save "$dir/f16.saved"
    python check "$dir/f16.saved" 1e-5
    expect_verified 2 --in "$dir/f16" --dtype bf16 --chunks 2
}

writes_a_trace() {
    expect_verified 4 "${small[@]}" --trace "$dir/trace.json"
    python3 -m json.tool "$dir/trace.json" >/dev/null || die "the trace is not JSON"
    python ranks "$dir/trace.json" 4
}

refuses_wrong_usage() {
    expect_failure 2 "unknown argument '--token'" 2 --token 5
    expect_failure 2 "unknown argument 'five'" 2 --tokens 5 five
    expect_failure 2 "--tokens needs a value" 2 --tokens
    expect_failure 2 "--in is empty" 2 --in ""
    expect_failure 2 "--dtype must be f32 or bf16, not 'f64'" 2 --dtype f64
    expect_failure 2 "give only one" 2 --seed 1 --in "$dir"
    expect_failure 2 "3 ranks do not divide hidden 64" 3 "${small[@]}"
    expect_failure 2 "16 ranks do not divide" 16 --hidden 64 --intermediate 72
    expect_failure 2 "more than one per token" 2 "${small[@]}" --chunks 14
    for option in --tokens --hidden --intermediate --chunks --rounds --cores; do
        for value in 0 -1 1e3 12x 99999999 99999999999999999999; do
            expect_failure 2 "$option must be a number from 1 to" 2 "$option" "$value"
        done
    done
    expect_failure 2 "--seed must be a number" 2 --seed -1
    expect_failure 2 "GiB of memory" 2 --hidden 1048576 --intermediate 1048576 --tokens 1048576
}

# Each with a fresh copy of good files, spoilt in one way. The number that is none lies in the
# part of the last rank, and rank 0 says so.
refuses_bad_files() {
    local good=$dir/f32.first bad=$dir/bad
    fresh() {
        rm -rf "$bad"
        cp -r "$good" "$bad"
    }
    expect_failure 1 "/missing/x.npy: cannot be opened: No such file" 2 --in "$dir/missing"
    expect_failure 2 "--tokens 12 contradicts" 2 --in "$good" --tokens 12
    expect_failure 2 "--hidden 63 contradicts" 2 --in "$good" --hidden 63
    expect_failure 2 "--intermediate 95 contradicts" 2 --in "$good" --intermediate 95
    expect_failure 2 "5 ranks do not divide" 5 --in "$good"
    fresh && rm "$bad/w_up.npy"
    expect_failure 1 "w_up.npy: cannot be opened" 2 --in "$bad"
    fresh && python as "$bad/w_up.npy" '<f4' fortran
    expect_failure 1 "w_up.npy: the matrix is in Fortran order" 2 --in "$bad"
    fresh && python as "$bad/x.npy" '<f8' c
    expect_failure 1 "x.npy: the dtype is '<f8'" 2 --in "$bad"
    fresh && truncate -s -1 "$bad/w_down.npy"
    expect_failure 1 "w_down.npy: the file is truncated" 2 --in "$bad"
    fresh && truncate -s 100 "$bad/w_gate.npy"
    expect_failure 1 "w_gate.npy: the file is truncated" 2 --in "$bad"
    fresh && echo >>"$bad/w_linear.npy"
    expect_failure 1 "w_linear.npy: the file is too long" 2 --in "$bad"
    fresh && cp "$bad/x.npy" "$bad/w_gate.npy"
    expect_failure 1 "w_gate.npy: the matrix is 13 x 64; with the other files it should be" \
        2 --in "$bad"
    for dtype in f32 bf16; do
        fresh && python nan "$bad/w_down.npy"
        expect_failure 1 "w_down[95, 3] is not a finite number" 4 --in "$bad" --dtype "$dtype"
    done
}

refuses_unwritable_results() {
    expect_failure 1 "/dev/null/x: cannot be created" 2 "${small[@]}" --save /dev/null/x
    touch "$dir/file"
    expect_failure 1 "file/x.npy: cannot be written" 2 "${small[@]}" --save "$dir/file"
    expect_failure 1 "t.json: cannot be written" 2 "${small[@]}" --trace "$dir/missing/t.json"
    mkdir "$dir/full" && ln -s /dev/full "$dir/full/y.npy"
    expect_failure 1 "y.npy: cannot be written: No space" 2 "${small[@]}" --save "$dir/full"
}

prints_help_once() {
    run 2 --help
    [ "$status" -eq 0 ] && [ ! -s "$dir/err" ] || die "--help fails"
    [ "$(grep -c '^usage: ' "$dir/out")" -eq 1 ] || die "--help is not printed once"
}

verifies_for_all_rank_counts
verifies_odd_cuts
corrects_old_kernels
round_trip f32
round_trip bf16
python check "$dir/f32.first" 1e-5
python check "$dir/bf16.first" 0.1
reads_other_files
writes_a_trace
prints_help_once
refuses_wrong_usage
refuses_bad_files
refuses_unwritable_results
echo "tp_ffn.sh: all verified in $SECONDS s"
