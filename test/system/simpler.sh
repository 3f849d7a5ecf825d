#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# Orchestrations and kernels of test/simpler, written for the three chip runtimes in the forms of March,
# April and August, compiled by `tern kernel-cc --runtime` without a warning, and run by a host over
# pto_runtime_c_api.h. And kernel-cc's --runtime itself.
source "$(dirname "$0")/../support/shell.sh"
sources=$root/test/simpler
export TERN_TIMEOUT=60

compilers=(g++)
! command -v clang++ >/dev/null || [ "${TERN_TEST_CLANG:-yes}" = no ] || compilers+=(clang++)

# Jobs, one a line, two at a time.
two_at_a_time() {
    xargs -P 2 -d '\n' -n 1 bash -c 'eval "$1" >"$dir/job.$$" 2>&1 || { cat "$dir/job.$$"; exit 255; }' - ||
        die "this has failed"
}
export dir tern sources

# RUNTIME NAME SOURCE OPTIONS...: NAME.so of a source for a runtime, and the host as a program.
job() {
    local runtime=$1 name=$2 source=$3
    shift 3
    echo "CXX=$compiler '$tern' kernel-cc --runtime $runtime -O1 -Wall -Wextra -Werror -shared $quick_link $*" \
        "'$sources/$source' -o $compiler.$name.so"
}
kernel_jobs() {
    local april=$1 between=$2 tmr=${1}tensormap_and_ringbuffer name=${1%/}
    job "$tmr" "${name}t_add" tensors/add.cpp
    job "$tmr" "${name}t_add3" tensors/add.cpp -DFIRST=3
    job "$tmr" "${name}t_mul" tensors/mul.cpp
    job "$tmr" "${name}t_mul3" tensors/mul.cpp -DFIRST=3
    job "$tmr" "${name}t_mul6" tensors/mul.cpp -DFIRST=6
    job "$tmr" "${name}t_adds" tensors/add_scalar.cpp $between
    job "$tmr" "${name}t_matmul64" tensors/matmul.cpp -DSIDE=64
    job "$tmr" "${name}t_matmul128" tensors/matmul.cpp -DSIDE=128
}
jobs_of() {
    local compiler=$1 runtime source
    echo "CXX=$compiler '$tern' kernel-cc --runtime host_build_graph -O1 -Wall -Wextra -Werror $quick_link" \
        "'$sources/host.cpp' -o $compiler.host"
    echo "CXX=$compiler '$tern' kernel-cc --runtime april/tensormap_and_ringbuffer -O1 -Wall -Wextra" \
        "-Werror '$sources/rules.cpp' -o $compiler.rules"
    for source in add add_scalar mul matmul refused; do
        job host_build_graph "p_$source" "pointers/$source.cpp"
    done
    kernel_jobs "" -DSCALAR_BETWEEN
    kernel_jobs april/ ""
    local slot
    for slot in 0 1 2; do
        job april/tensormap_and_ringbuffer "aprilt_blocks$slot" tensors/blocks.cpp "-DSLOT=$slot"
    done
    job april/tensormap_and_ringbuffer aprilt_cube tensors/pipes.cpp -D__DAV_CUBE__
    job april/tensormap_and_ringbuffer aprilt_vector tensors/pipes.cpp -D__DAV_VEC__
    for source in slow copy; do
        job tensormap_and_ringbuffer "t_$source" "tensors/$source.cpp"
    done
    for source in nothing late counts slow copy conditions; do
        job april/tensormap_and_ringbuffer "aprilt_$source" "tensors/$source.cpp"
    done
    for source in add add_scalar mul slow copy late counts; do
        job august/tensormap_and_ringbuffer "augustt_$source" "tensors/$source.cpp"
    done
    job august/host_build_graph august_host_build_graph.vector august/host_build_graph/vector.cpp
    for runtime in {,april/}{host_build_graph,aicpu_build_graph,tensormap_and_ringbuffer} \
        august/tensormap_and_ringbuffer; do
        for source in "$sources/$runtime"/*.cpp; do
            source=$(basename "$source" .cpp)
            job "$runtime" "$(tr / _ <<<"$runtime").$source" "$runtime/$source.cpp"
        done
    done
}
compiles_without_warnings() {
    local compiler
    for compiler in "${compilers[@]}"; do
        jobs_of "$compiler"
    done | two_at_a_time
}

# No symbol keeps an object in the process: hosts load and unload them often.
nothing_is_unique() {
    local object
    for object in g++.*.so; do
        ! nm -D --defined-only "$object" | grep ' u ' >&2 || die "$object stays loaded for ever"
    done
}

# Before the host: tern run.
launcher=()

# CASE GENERATION ORCHESTRATION FUNCTION CLUSTERS KERNELS...: the kernels' ids are their places.
runs() {
    local case=$1 generation=$2 orchestration=$3 function=$4 clusters=$5 id=0 kernels=() kernel
    shift 5
    for kernel in "$@"; do
        kernels+=("$((id++))=$compiler.$kernel.so")
    done
    expect 0 "$case: right" "${launcher[@]}" "./$compiler.host" "$case" "$generation" \
        "$compiler.$orchestration.so" "$function" "$clusters" "${kernels[@]}"
}
# CODE [ENVIRONMENT]: a run that ends with the code.
fatal() {
    launcher=(env "WANTED_CODE=$1" "${@:2}")
    runs fatal april april_tensormap_and_ringbuffer.fatal - 2 aprilt_nothing aprilt_conditions
    grep -q "_error_code=$1$" said && grep -q '^error hint: ' said || die "code $1: $(cat said)"
    launcher=()
}
runs_all() {
    local compiler=$1 april clusters
    local pointers=(p_add p_add_scalar p_mul)
    for case in vector42 vector42twice; do
        runs $case march host_build_graph.vector build_vector 3 "${pointers[@]}"
        runs $case march aicpu_build_graph.vector build_vector 3 "${pointers[@]}"
        PTO_AICPU_BUILD_GRAPH_BUILD_MODE=0 \
            runs $case march aicpu_build_graph.vector build_vector 1 "${pointers[@]}"
        runs $case april april_host_build_graph.vector build_vector 3 "${pointers[@]}"
        runs $case april april_aicpu_build_graph.vector - 3 aprilt_add aprilt_adds aprilt_mul
    done
    for case in vector47 vector47twice; do
        runs $case march tensormap_and_ringbuffer.vector aicpu_orchestration_entry 3 \
            t_add t_adds t_mul
        runs $case april april_tensormap_and_ringbuffer.vector - 3 aprilt_add aprilt_adds aprilt_mul
    done
    runs vector47on_device april april_tensormap_and_ringbuffer.vector - 3 \
        aprilt_add aprilt_adds aprilt_mul
    OWN_KERNEL=$compiler.p_add.so runs vector5 march host_build_graph.upload build_upload 1 p_mul
    runs bgemm march host_build_graph.bgemm build_bgemm 2 p_matmul p_add
    runs bgemm march aicpu_build_graph.bgemm build_bgemm 2 p_matmul p_add
    runs bgemm march tensormap_and_ringbuffer.bgemm - 2 t_matmul64 t_add
    runs bgemm april april_aicpu_build_graph.bgemm - 2 aprilt_matmul64 aprilt_add
    runs alternating march tensormap_and_ringbuffer.alternating - 2 t_matmul128 t_add
    runs alternating april april_tensormap_and_ringbuffer.alternating - 2 aprilt_matmul128 aprilt_add
    runs scalar_data april april_tensormap_and_ringbuffer.scalar_data - 2 aprilt_add aprilt_nothing
    runs mixed march tensormap_and_ringbuffer.mixed - 2 \
        t_matmul128 t_add t_add3 t_mul t_mul3 t_mul6
    runs mixed april april_tensormap_and_ringbuffer.mixed - 2 \
        aprilt_matmul128 aprilt_add aprilt_add3 aprilt_mul aprilt_mul3 aprilt_mul6
    runs blocks april april_tensormap_and_ringbuffer.blocks - 3 \
        aprilt_blocks0 aprilt_blocks1 aprilt_blocks2 aprilt_late aprilt_counts
    for clusters in 1 3; do
        runs pipes april april_tensormap_and_ringbuffer.pipes - $clusters aprilt_cube aprilt_vector
    done
    launcher=("$tern" run -n 2)
    runs peers april april_tensormap_and_ringbuffer.peers - 1 aprilt_late aprilt_counts aprilt_copy
    launcher=()
    runs order march tensormap_and_ringbuffer.order - 2 t_slow t_copy
    runs order april april_tensormap_and_ringbuffer.order - 2 aprilt_slow aprilt_copy
    for case in vector47 vector47twice vector47on_device; do
        runs $case april august_tensormap_and_ringbuffer.vector - 3 \
            augustt_add augustt_add_scalar augustt_mul
    done
    runs vector47 april august_host_build_graph.vector - 3 augustt_add augustt_add_scalar augustt_mul
    runs order april august_tensormap_and_ringbuffer.order - 2 augustt_slow augustt_copy
    runs predicate april august_tensormap_and_ringbuffer.predicate - 2 augustt_slow augustt_copy
    runs counts april august_tensormap_and_ringbuffer.counts - 5
    launcher=(env WANTED_CODE=9)
    runs fatal april august_tensormap_and_ringbuffer.fatal - 1
    grep -q 'because of 7' said || die "why it gave up: $(cat said)"
    launcher=(env WANTED_CODE=5)
    runs fatal april august_tensormap_and_ringbuffer.fatal - 1
    grep -q 'names no tasks, but how many' said || die "no tasks: $(cat said)"
    launcher=(env WANTED_CODE=5 WANTED_HOW=52)
    runs fatal april august_tensormap_and_ringbuffer.fatal - 1
    grep -q 'set_predicate names no element of its tensor' said || die "no element: $(cat said)"
    launcher=(env WANTED_CODE=5 WANTED_HOW=50)
    runs fatal april august_tensormap_and_ringbuffer.fatal - 1
    grep -q 'than CoreTaskArgsWithDeps has room for' said || die "too many tasks: $(cat said)"
    launcher=(env WANTED_CODE=5 WANTED_HOW=51)
    runs fatal april august_tensormap_and_ringbuffer.fatal - 1
    grep -q '70000 tasks to run after: there are at most 65536' said || die "70000 tasks: $(cat said)"
    launcher=()
    runs wrong april april_tensormap_and_ringbuffer.wrong - 1 aprilt_nothing
    grep -q 'orch_error_code=9' said && grep -q 'wrong.*3 reasons\|entry: 3 reasons' said ||
        die "what the orchestration gave up for: $(cat said)"
    fatal 1 PTO2_RING_TASK_WINDOW=4
    fatal 2 PTO2_RING_HEAP=1024
    fatal 3 PTO2_RING_TASK_WINDOW=4
    fatal 4 PTO2_RING_DEP_POOL=4
    fatal 7
    fatal 101
    fatal 102
    runs refused march host_build_graph.vector build_vector 1 p_add p_refused p_mul
    grep -q 'TASSIGN' said || die "which instruction was refused: $(cat said)"
    expect 0 'rules: right' "./$compiler.rules"
    runs unknown_kernel march host_build_graph.wrong build_wrong 1
}

# An orchestration needs nothing but the headers: tables of functions come with the runtime.
needs_no_library() {
    local compiler=$1
    "$compiler" -std=c++17 -O1 -fPIC -shared -Wall -Wextra -Werror -I "$root/include" \
        -I "$root/include/faces" -I "$root/include/faces/simpler/april/tensormap_and_ringbuffer" \
        "$sources/april/tensormap_and_ringbuffer/vector.cpp" -o "$compiler.alone.so"
    ! nm -D --undefined-only "$compiler.alone.so" | grep -i 'tern\|pto' >&2 ||
        die "an orchestration needs these of a library"
    nm -D "$compiler.alone.so" | grep -q ' W framework_current_runtime' || die "no current runtime"
    runs vector47 april alone - 3 aprilt_add aprilt_adds aprilt_mul
}

refuses_wrong_runtimes() {
    local compiler=g++
    expect 2 "there is no runtime 'april'" "$tern" kernel-cc --runtime april "$sources/host.cpp"
    expect 2 "there is no runtime ''" "$tern" kernel-cc "$sources/host.cpp" --runtime
    printf '%s\n' 'extern "C" void aicpu_orchestration_entry() {}' >plain.cpp
    "$tern" kernel-cc --runtime=host_build_graph -shared plain.cpp -o plain.so
    expect 1 "was not compiled with tern's" ./g++.host vector42 march plain.so - 1
    printf '%s\n' '#include "simpler/host_build_graph/runtime.h"' \
        '#include "simpler/april/host_build_graph/orchestration_api.h"' >both.cpp
    "$tern" kernel-cc --runtime host_build_graph -shared both.cpp -o both.so
    expect 1 "headers of two runtimes" ./g++.host vector42 march both.so - 1
    expect 1 "has no function build" ./g++.host vector42 march g++.host_build_graph.vector.so build 1
    expect 1 "no kernel_entry" ./g++.host vector42 march g++.host_build_graph.vector.so build_vector 1 \
        0=g++.host_build_graph.vector.so
    expect 1 "not a shared object" ./g++.host vector42 march "$sources/host.cpp" - 1
}

# All headers that a runtime has, in both orders, between those of the PTO ISA, whose names are visible. Each
# order by each compiler and by each standard: one compiler has the one by the older standard, the other the other.
headers_come_in_any_order() {
    local runtime name folders header headers compiler standard
    for runtime in {,april/}{host_build_graph,aicpu_build_graph,tensormap_and_ringbuffer} \
        august/{host_build_graph,tensormap_and_ringbuffer}; do
        name=${runtime/\//_}
        folders=("$root/include/faces/simpler/$runtime" "$root/include/faces/simpler")
        [[ $runtime != */* ]] || folders+=("$root/include/faces/simpler/${runtime%/*}")
        headers=(pto/pto-inst.hpp pto/comm/pto_comm_inst.hpp comm_context.h
            $(find "${folders[@]}" -maxdepth 1 -name '*.h' -printf '%f\n' | sort))
        printf '#include "%s"\n' "${headers[@]}" >"$name.forwards.cpp"
        tac "$name.forwards.cpp" >"$name.backwards.cpp"
        for header in forwards backwards; do
            echo 'using namespace pto; using namespace pto::comm; CoreType core_ = AIV;' \
                >>"$name.$header.cpp"
            for compiler in "${compilers[@]}"; do
                standard=c++17
                [ "$compiler-$header" != g++-backwards ] && [ "$compiler-$header" != clang++-forwards ] ||
                    standard=c++20
                echo "$compiler -std=$standard -fsyntax-only -Wall -Wextra -Wpedantic -Werror" \
                    "-I '$root/include' -I '$root/include/faces' ${folders[*]/#/-I }" \
                    "$name.$header.cpp"
            done
        done
    done | two_at_a_time
}

# A source that is for several runtimes knows for which one it is compiled.
sources_know_the_runtime() {
    local runtime
    for runtime in {,april/}{host_build_graph,aicpu_build_graph,tensormap_and_ringbuffer}; do
        printf '#ifndef TERN_RUNTIME_%s\n#error "another runtime"\n#endif\n' "${runtime/\//_}" \
            >which.cpp
        expect 0 '' "$tern" kernel-cc --runtime "$runtime" -E which.cpp -o which.ii
    done
    expect 1 'another runtime' "$tern" kernel-cc --runtime host_build_graph -E which.cpp -o which.ii
}

# tern_add_kernel(... RUNTIME ...), of a project with the tree's tern.
builds_with_cmake() {
    mkdir project
    cat >project/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.24)
project(kernels LANGUAGES CXX)
add_library(tern::tern SHARED IMPORTED)
set_target_properties(tern::tern PROPERTIES IMPORTED_LOCATION "$build/lib/libtern.so")
add_executable(tern::command IMPORTED)
set_target_properties(tern::command PROPERTIES IMPORTED_LOCATION "$tern")
include("$root/cmake/ternKernel.cmake")
tern_add_kernel(vector "$sources/host_build_graph/vector.cpp" RUNTIME host_build_graph)
EOF
    expect 0 '' cmake -S project -B project/build
    expect 0 '' cmake --build project/build
    cp project/build/libvector.so g++.cmake.so
    local compiler=g++
    runs vector42 march cmake build_vector 1 p_add p_add_scalar p_mul
}

compiles_without_warnings
nothing_is_unique
headers_come_in_any_order
for compiler in "${compilers[@]}"; do
    runs_all "$compiler"
    needs_no_library "$compiler"
done
sources_know_the_runtime
builds_with_cmake
refuses_wrong_runtimes
echo "simpler.sh: ${compilers[*]}, all verified in $SECONDS s"
