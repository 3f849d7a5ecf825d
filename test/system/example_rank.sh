#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 180
# `tern example rank`: a kernel on 1 to 16 ranks under each chip runtime, folders of one chip, what
# is refused and how, and kernels that fail, wait in vain, never return or kill their rank.
source "$(dirname "$0")/../support/shell.sh"
sources=$root/test/example
simpler=$root/test/simpler
runtimes=(host_build_graph aicpu_build_graph tensormap_and_ringbuffer)
export TERN_TIMEOUT=60

cat >data.py <<'EOF'
# make N | check N ROOT: inputs of N ranks; what the root has, and that nobody else has written.
import array, os, sys
what, n = sys.argv[1], int(sys.argv[2])
def path(r, name): return f"data/rank_{r}/{name}"
def floats(r, name):
    a = array.array("f"); a.frombytes(open(path(r, name), "rb").read()); return list(a)
for r in range(n):
    if what == "make":
        os.makedirs(path(r, ""), exist_ok=True)
        array.array("f", [i + 100 * r for i in range(256)]).tofile(open(path(r, "input.bin"), "wb"))
        continue
    out = floats(r, "output.bin")
    untouched = os.path.exists(path(r, "unwritten")) and open(path(r, "unwritten")).read()
    if r == int(sys.argv[3]):
        assert out == [n * i + 100 * n * (n - 1) // 2 for i in range(256)], (r, out[:4])
        assert not untouched, untouched
    else:
        assert untouched == "output\n", (r, untouched)
        assert all(v != v for v in out), (r, out[:4])
EOF
data() {
    python3 data.py "$@" || die "data.py $*"
}

compile() {
    local runtime=$1 source=$2 name=$3
    shift 3
    echo "'$tern' kernel-cc --runtime $runtime -O1 -Wall -Wextra -Werror -shared $quick_link $* '$source' -o $name.so"
}
compiles() {
    local runtime kernel
    {
        for runtime in "${runtimes[@]}"; do
            compile "$runtime" "$sources/$runtime.cpp" "$runtime"
        done
        compile host_build_graph "$sources/sum.cpp" sum
        for kernel in add add_scalar mul; do
            compile host_build_graph "$simpler/pointers/$kernel.cpp" "p_$kernel"
            compile april/tensormap_and_ringbuffer "$simpler/tensors/$kernel.cpp" "t_$kernel"
        done
        compile host_build_graph "$simpler/host_build_graph/vector.cpp" hbg_vector
        compile aicpu_build_graph "$simpler/aicpu_build_graph/vector.cpp" abg_vector
        compile april/tensormap_and_ringbuffer \
            "$simpler/april/tensormap_and_ringbuffer/vector.cpp" april_vector
        compile august/tensormap_and_ringbuffer \
            "$simpler/august/tensormap_and_ringbuffer/vector.cpp" august_vector
    } | xargs -P 2 -d '\n' -n 1 bash -c 'eval "$1"' - || die "a source does not compile"
}

# RANKS RUNTIME OPTIONS...: the command line of a run. RUN: options of tern run.
rank() {
    local n=$1 runtime=$2
    shift 2
    "$tern" run -n "$n" ${RUN:-} -- "$tern" example rank --nranks "$n" --artifact-dir . \
        --data-dir "$dir/data" --runtime "$runtime" --orch-file "$runtime.so" --orch-func build \
        --config-func config --win-sync-prefix 256 --win-buffer input:float32:256 \
        --dev-buffer output:float32:256 --load input --save output --arg input --arg output \
        --arg nranks --arg root --arg deviceCtx --kernel-bin 0:sum.so "$@"
}

sums_on_ranks() {
    local runtime n
    for runtime in "${runtimes[@]}"; do
        for n in 1 2 3 5 8 16; do
            data make "$n"
            expect 0 "" rank "$n" "$runtime" --root $((n / 2)) --rounds $((n == 5 ? 3 : 1))
            [ "$(grep -c '\] Kernel execution complete$' said)" -eq $((n == 5 ? 15 : n)) ] ||
                die "$runtime on $n: $(cat said)"
            data check "$n" $((n / 2))
        done
    done
}

says_what_it_does() {
    RUN='--output logs' expect 0 "" rank 2 aicpu_build_graph --block-dim 3
    sed -E "s/0x[0-9a-f]+/ADDRESS/; s|$dir/||" logs/rank-1.log >log
    diff - log <<'EOF' || die "the lines of a rank"
[rank 1] Library loaded
[rank 1] Device 1 set for runtime
[rank 1] Comm initialized, local_base=ADDRESS
[rank 1] Buffer 'input': window 256xfloat32=1024B @ ADDRESS
[rank 1] Buffer 'output': device 256xfloat32=1024B @ ADDRESS
[rank 1] Launching kernel: 5 args, 1 kernels
[rank 1] Kernel execution complete
[rank 1] Saved 'output' to data/rank_1/output.bin
[rank 1] Buffer 'output': no kernel wrote it on this rank
[rank 1] Done
EOF
    RUN='--trace trace.json' expect 0 "" rank 2 tensormap_and_ringbuffer --kernel-name 0:reduce_all
    grep -q '"name":"reduce_all"' trace.json && grep -q 'AIV [01]' trace.json ||
        die "the task's name is not in the trace"
}

# A folder of one chip: RUNTIME ORCHESTRATION FUNCTION KERNELS WANTED ARGUMENTS...
single() {
    local runtime=$1 orchestration=$2 function=$3 kernels=$4 wanted=$5
    shift 5
    expect 0 "[rank 0] Done" "$tern" run -n 1 -- "$tern" example rank --artifact-dir "$dir" \
        --data-dir data --runtime "$runtime" --orch-file "$orchestration.so" --orch-func "$function" \
        --block-dim 3 --tensor "a:float32:$1:in" --tensor "b:float32:$1:in" \
        --tensor "f:float32:$1:out" --kernel-bin "0:${kernels}_add.so" \
        --kernel-bin "1:$dir/${kernels}_add_scalar.so" --kernel-bin "2:${kernels}_mul.so" "${@:2}"
    python3 - "$wanted" <<'EOF' || die "$runtime on one chip"
import array, sys
f = array.array("f"); f.frombytes(open("data/rank_0/f.bin", "rb").read())
assert list(f) == [float(sys.argv[1])] * 16384, f[:4]
EOF
}
one_chip() {
    python3 -c 'import array
for name, value in ("a", 2), ("b", 3):
    array.array("f", [value] * 16384).tofile(open(f"data/rank_0/{name}.bin", "wb"))'
    local sizes=(--scalar size_a:c_int64:65536 --scalar size_b:c_int64:65536
        --scalar size_f:c_int64:65536)
    single host_build_graph hbg_vector build_vector p 42 16384 "${sizes[@]}" --scalar n:c_int:16384
    single aicpu_build_graph abg_vector build_vector p 42 16384 --tensor-sizes \
        --scalar n:uint64:16384
    single april/tensormap_and_ringbuffer april_vector aicpu_orchestration_entry t 47 16384x1
    single august/tensormap_and_ringbuffer august_vector aicpu_orchestration_entry t 47 16384x1
}

wrong() {
    local status=$1 text=$2
    shift 2
    rm -f data/rank_0/output.bin
    expect "$status" "$text" rank 1 host_build_graph "$@"
    [ ! -e data/rank_0/output.bin ] || die "$*: there is an output"
}
refuses() {
    wrong 1 "--load 'x': there is no buffer" --load x
    wrong 1 "--save 'x': there is no buffer" --save x
    wrong 1 "--arg 'x' is no buffer, and none of the tokens" --arg x
    wrong 1 "there are two buffers 'input'" --win-buffer input:int8:1
    wrong 1 "the token 'root'" --dev-buffer root:int8:1
    wrong 1 "there is no dtype 'float33', but float16" --dev-buffer x:float33:1
    wrong 1 "--dev-buffer takes name:dtype:count, not 'x:int8'" --dev-buffer x:int8
    wrong 1 "takes name:dtype:count, not 'x:int8:1:in'" --win-buffer x:int8:1:in
    wrong 1 "the count is a number from 1" --win-buffer x:int8:0
    wrong 1 "not '1x2x3x4x5x6'" --win-buffer x:int8:1x2x3x4x5x6
    wrong 1 "not '4294967295x4294967295'" --win-buffer x:int8:4294967295x4294967295
    wrong 1 "a name has no '/'" --dev-buffer ../x:int8:1
    wrong 1 "there are two kernels with the id 0" --kernel-bin 0:sum.so
    wrong 1 "an id from 0 to 1023, not '1024:sum.so'" --kernel-bin 1024:sum.so
    wrong 1 "no kernel has the id 7" --kernel-name 7:x
    wrong 1 "--root is 1; it must be below --nranks, which is 1" --root 1
    wrong 1 "a number of ranks from 1 to 64, not '65'" --nranks 65
    wrong 1 "--nranks is 3, and 'tern run' has started 1 ranks" --nranks 3
    wrong 1 "--block-dim takes a number from 1 to 85" --block-dim 86
    wrong 1 "not both" --scalar x:c_int:1
    wrong 1 "ends with in, out or inout, not 'on'" --tensor x:int8:1:on
    wrong 1 "there is no type 'c_char'" --scalar x:c_char:1
    wrong 1 "'128' is no value of c_int8" --scalar x:c_int8:128
    wrong 1 "'1.5' is no value of int32" --scalar x:int32:1.5
    wrong 1 "'-1' is no value of c_uint64" --scalar x:c_uint64:-1
    wrong 1 "'wide' is no value of float" --scalar x:float:wide
    wrong 1 "'extra' is no option" extra
    wrong 1 "--data-dir needs a value" --data-dir ''
    cp data/rank_0/input.bin data/rank_0/big.bin
    wrong 2 "rank_0/big.bin has 1024 bytes; 256 x float64 are 2048" --dev-buffer big:float64:256 \
        --load big
    wrong 3 "no memory for 17592186044416 x float64" --dev-buffer x:float64:65536x65536x4096
    wrong 4 "cannot read ./none.so: No such file" --orch-file none.so
    wrong 4 "cannot write to the folder none/rank_0/: No such file" --data-dir none
    mkdir -p empty/rank_0
    wrong 4 "cannot read empty/rank_0/input.bin: No such file" --data-dir empty
    wrong 6 "was compiled for host_build_graph, not for aicpu_build_graph" --runtime aicpu_build_graph
    wrong 6 "has no function none" --orch-func none
    wrong 6 "no kernel_entry" --kernel-bin 1:host_build_graph.so
    expect 1 "the runtimes of April have no float64" "$tern" example rank --data-dir data \
        --artifact-dir . --runtime april/host_build_graph --orch-file host_build_graph.so \
        --tensor input:float64:128:in
    expect 2 "'rang' is not 'run'" "$tern" example rang
}

# HOW STATUSES TEXT: what rank 1 of 3 does, of which statuses the job's is one (which rank is first
# to end, nobody knows), and why the others say that they ended.
goes_wrong() {
    local status=0 rank
    rm -rf logs
    echo stale >data/rank_0/output.bin
    EXAMPLE_TEST=$1 TERN_TIMEOUT=1 RUN='--timeout 20 --output logs' \
        rank 3 host_build_graph --kernel-name 0:sum_all >said 2>&1 || status=$?
    [[ " $2 " == *" $status "* ]] || die "$1: exit status $status: $(tail -5 said)"
    for rank in 0 2; do
        tail -1 "logs/rank-$rank.log" | grep -qE "rank $rank\]?:? .*$3" ||
            die "$1: rank $rank ends with: $(tail -1 "logs/rank-$rank.log")"
    done
    [ ! -e data/rank_0/output.bin ] || die "$1: there is an output, of an earlier run"
    [ -z "$(pgrep -f "$dir/[d]ata" || true)" ] || die "$1: a process is left"
}
# While the kernel writes a core, the launcher cannot tell how the rank ended.
dumps='died \(process [0-9]+ has crashed and writes its core\)'
# STATUS HOW TEXT: rank 1 dies by a signal, and its last line says where and of what.
dies() {
    goes_wrong "$2" "$1" "rank 1 (was killed by signal $(($1 - 128))|$dumps)"
    [ "$(tail -1 logs/rank-1.log)" = "tern: rank 1: kernel 'sum_all', block 0 of 1: $3" ] ||
        die "$2: rank 1 ends with: $(tail -1 logs/rank-1.log)"
}
ends() {
    data make 3
    goes_wrong fail '5 6' "'sum_all' failed: a kernel that fails on purpose"
    goes_wrong kill 137 'rank 1 was killed by signal 9'
    dies 139 address "no memory to use at address 0x10"
    dies 139 pointer "a pointer that is no address"
    dies 134 abort "abort()"
    local late='rank [012]: SCHEDULER_TIMEOUT: it did not end within 1 s' # on a busy machine
    goes_wrong wait '5 6' "(waited 1 s for the signal at byte [048] of .*seen 1, wanted == 2|$late)"
    goes_wrong spin '5 6' "(waited 1 s for the signal at byte 4 of .*seen 0, wanted == 1|$late)"
    EXAMPLE_TEST=wait RUN='--timeout 1' expect 124 "timeout of 1 s" rank 3 host_build_graph
    [ -z "$(pgrep -f "$dir/[d]ata" || true)" ] || die "the launcher's deadline: a process is left"
    data make 1 # a peer that never comes
    expect 5 "rank" env TERN_TIMEOUT=1 "$tern" run -n 2 --timeout 20 -- bash -c \
        '[ "$TERN_RANK" = 1 ] || exec "$0" example rank --nranks 2 --data-dir data \
            --artifact-dir . --runtime host_build_graph --orch-file x' "$tern"
}

# `tern example run` of an installation hands over to its Python package.
hands_over() {
    local libdir
    libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
    mkdir -p prefix/bin "prefix/$libdir/tern/python/tern"
    cp "$tern" prefix/bin/tern
    ln -s "$build"/lib/libtern.so* "prefix/$libdir/"
    echo >"prefix/$libdir/tern/python/tern/run_example.py"
    cat >python <<'EOF'
#!/bin/bash
[ "$1" != -c ] || exit "${NO_NUMPY:-0}"
printf '%s\n' "$*" "$PYTHONPATH" "$TERN_COMMAND"
exit 3
EOF
    chmod +x python
    export PYTHONPATH=before TERN_PYTHON=$dir/python
    expect 3 "" prefix/bin/tern example run -k 'a b' --nranks 3
    diff - said <<EOF || die "what Python gets"
-m tern.run_example -k a b --nranks 3
$dir/prefix/$libdir/tern/python:before
$dir/prefix/bin/tern
EOF
    NO_NUMPY=1 expect 1 "$dir/python is no Python with NumPy" prefix/bin/tern example run
    TERN_PYTHON=$dir/none expect 1 "$dir/none is no Python" prefix/bin/tern example run
    ln -s python python3
    TERN_PYTHON='' PATH=$dir:$PATH expect 3 "run_example -g x" prefix/bin/tern example run -g x
    unset PYTHONPATH TERN_PYTHON
}

compiles
sums_on_ranks
says_what_it_does
one_chip
refuses
ends
hands_over
echo "example_rank.sh: all as it should be"
