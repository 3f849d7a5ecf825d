#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# The programs of test/pto, compiled by `tern kernel-cc` without a warning and run for 1 to 8 ranks:
# all cases of the reference's matrix, and the rules. Then kernel-cc itself, and the headers alone.
source "$(dirname "$0")/../support/shell.sh"
sources=$root/test/pto
export TERN_TIMEOUT=60

compilers=(g++)
! command -v clang++ >/dev/null || [ "${TERN_TEST_CLANG:-yes}" = no ] || compilers+=(clang++)
options_of() {
    [ "$1" = g++ ] && echo "-std=c++17 -O1" || echo "-std=c++20 -O0"
}

# Two at a time, in the order of the list; the first that fails is shown.
two_at_a_time() {
    xargs -P 2 -d '\n' -n 1 bash -c 'eval "$1" >"$dir/job.$$" 2>&1 || { cat "$dir/job.$$"; exit 255; }' - ||
        die "this has failed"
}
export dir tern sources

compiles_without_warnings() {
    local compiler program
    for program in "$sources"/*.cpp; do
        for compiler in "${compilers[@]}"; do
            echo "CXX=$compiler '$tern' kernel-cc $(options_of "$compiler") -Wall -Wextra -Werror $quick_link" \
                "'$program' -o $(basename "$program" .cpp).$compiler"
        done
    done | two_at_a_time
}

# 142 synchronous and 36 asynchronous cases, each with its number of ranks; with 3 ranks all run, and
# that is enough for a second compiler.
runs_the_matrix() {
    local compiler program ranks
    for compiler in "${compilers[@]}"; do
        : >said.all
        for program in *."$compiler"; do
            for ranks in 3 2 4 8; do
                [ "$ranks" = 3 ] || [ "$compiler" = g++ ] || break
                "$tern" run -n "$ranks" "./$program" >out 2>err ||
                    die "$program, $ranks ranks: $(grep -v ' error: ' err | head -3)"
                cat out >>said.all
            done
        done
        [ "$(counted 's/^async: 3 ranks, \([0-9]*\) of.*/\1/p')" -eq 36 ] ||
            die "not 36 asynchronous cases: $(grep '^async:' said.all)"
        [ "$(counted '/^async:/d; s/.*: 3 ranks, \([0-9]*\) of.*/\1/p')" -eq 142 ] ||
            die "not 142 synchronous cases: $(cat said.all)"
        [ "$compiler" = g++ ] || continue
        [ "$(counted 's/^async: \([248]\) ranks, \([0-9]*\) of.*/\2/p')" -eq 34 ] ||
            die "not 34 asynchronous cases: $(grep '^async:' said.all)"
        [ "$(counted '/^async:/d; s/.*: [248] ranks, \([0-9]*\) of.*/\1/p')" -eq 142 ] ||
            die "not 142 synchronous cases: $(cat said.all)"
    done
}
counted() {
    sed -n "$1" said.all | awk '{ sum += $1 } END { print sum + 0 }'
}

# Checking mode has nothing to say of those that do not look at memory before a barrier, to see what
# an instruction does at once.
runs_in_silence_when_checked() {
    local program
    for program in async async_rules cube launch more_tiles patterns reduce_gather signals; do
        TERN_ISA_CHECK=1 expect 0 "$program: 3 ranks" "$tern" run -n 3 "./$program.g++"
        ! grep 'tern check' said >&2 || die "$program, checked"
    done
}

# Processes that nothing launched: one alone, and three that meet by the root info of HCCL, or pass
# each other the descriptors of a global domain.
three_of() { # PROGRAM OPTION PLACE
    local rank pids=()
    for rank in 0 1 2; do
        "./$1.g++" "$2" "$3" "$rank" 3 >"out.$rank" 2>&1 &
        pids[rank]=$!
    done
    for rank in 0 1 2; do
        wait "${pids[rank]}" || die "$1 $2: $(cat out.*)"
    done
    grep -q "^$1: 3 ranks, [1-9]" out.0 || die "$1 $2: $(cat out.0)"
}
runs_without_a_launcher() {
    local program
    for program in types_and_tiles more_tiles cube launch async_rules; do
        expect 0 "$program: 1 ranks" "./$program.g++"
    done
    for program in signals reduce_gather; do
        rm -f root_info
        three_of "$program" --root-info "$dir/root_info"
    done
    for program in signals reduce_gather async move; do
        rm -rf board && mkdir board
        three_of "$program" --global "$dir/board"
    done
}

write_sources() {
    cat >kernel.cpp <<'EOS'
#include "pto/comm/pto_comm_inst.hpp"
__global__ AICORE void Kernel(__gm__ int32_t *sum, int32_t value)
{
    *sum += value;
}
extern "C" void Launch(int32_t *sum, void *stream)
{
    Kernel<<<1, nullptr, stream>>>(sum, 40);
}
EOS
    cat >launch.cpp <<'EOS'
void Kernel(int);
void Launch(void *stream)
{
    Kernel<<<1, nullptr, stream>>>(40);
}
EOS
    cat >host.cpp <<'EOS'
#include "acl/acl.h"
extern "C" void Launch(int32_t *sum, void *stream);
int main()
{
    int32_t sum = 2;
    aclrtStream stream = nullptr;
    return aclrtCreateStream(&stream) == 0 && (Launch(&sum, stream), true) &&
                   aclrtSynchronizeStream(stream) == 0 && aclrtDestroyStream(stream) == 0
               ? sum
               : 1;
}
EOS
}

# Two sources, objects that are linked afterwards, a shared object, and where dependencies go.
links_in_all_ways() {
    local compiler
    for compiler in "${compilers[@]}"; do
        export CXX=$compiler
        expect 0 '' "$tern" kernel-cc -O0 kernel.cpp host.cpp -o whole
        expect 42 '' ./whole
        expect 0 '' "$tern" kernel-cc -O0 -c -MMD kernel.cpp
        grep -q '^kernel.o: kernel.cpp' kernel.d || die "kernel.d is: $(cat kernel.d)"
        CXX="env $compiler" expect 0 '' "$tern" kernel-cc -O0 -c host.cpp -o other.o
        expect 0 '' "$compiler" kernel.o other.o -L "$build/lib" -Wl,-rpath,"$build/lib" -ltern \
            -pthread -o linked
        expect 42 '' ./linked
        expect 0 '' "$tern" kernel-cc -O0 host.cpp kernel.o -omixed
        expect 42 '' ./mixed
        expect 0 '' "$tern" kernel-cc kernel.o other.o -o objects
        expect 42 '' ./objects
        expect 0 '' "$tern" kernel-cc -std=c++11 -O0 -Wall -Wextra -Werror -c host.cpp -o other.o
        expect 1 'launches_of_kernels_need_std_cpp17' "$tern" kernel-cc -std=c++14 -c launch.cpp
        rm kernel.o
        expect 0 '' "$tern" kernel-cc -fsyntax-only kernel.cpp
        [ ! -e kernel.o ] || die "-fsyntax-only leaves an object"
        expect 0 '' "$tern" kernel-cc -O0 -shared kernel.cpp -o libkernel.so
        expect 0 '' "$tern" kernel-cc -O0 host.cpp -L. -lkernel -Wl,-rpath,"$dir" -o shared
        expect 42 '' ./shared
        expect 0 '% ::pto_launch("Kernel",1, nullptr, stream)(sum, 40);' \
            "$tern" kernel-cc -E kernel.cpp
        ! grep '"/.*/\(memory\|string\|functional\)"' said >&2 || die "kernels read a header of this size"
        cp host.cpp host
        expect 0 '' "$tern" kernel-cc -O0 -x c++ kernel.cpp host -x none -u main -o whole
        expect 42 '' ./whole
        rm -f whole linked mixed objects shared ./*.o ./*.d ./*.so
        unset CXX
    done
    nothing_stays_behind
}

nothing_stays_behind() {
    [ -z "$(compgen -G "$dir/tern-kernel-*")" ] || die "the folder of the steps stays behind"
}

# A reader that goes away, and signals at any time.
cleans_up_when_it_is_ended() {
    local seconds status signal
    "$tern" kernel-cc -E kernel.cpp | head -c 1 >/dev/null || true
    nothing_stays_behind
    for signal in TERM HUP; do
        for seconds in 0.05 0.3 0.6; do
            "$tern" kernel-cc -O2 kernel.cpp host.cpp -o ended &
            sleep $seconds
            kill -$signal $! 2>/dev/null || true
            status=0
            wait $! 2>/dev/null || status=$?
            [ $status -gt 128 ] || [ $status -eq 0 ] || die "SIG$signal after $seconds s: status $status"
            nothing_stays_behind
        done
    done
    rm -f ended
}

# Errors carry the user's file and line, also behind launches and in templates.
names_files_and_lines() {
    local compiler
    printf '%s\n' '#include "pto/pto-inst.hpp"' '__global__ AICORE void K(int *) {}' 'void F() {' \
        '    K<<<1,' '        nullptr, nullptr>>>(nullptr);' '    return 1 +;' '}' >line.cpp
    printf '%s\n' '#include "pto/comm/pto_comm_inst.hpp"' 'using namespace pto;' \
        'using A = GlobalTensor<int, Shape<1, 1, 1, 1, 8>, Stride<8, 8, 8, 8, 1>>;' \
        'using B = GlobalTensor<float, Shape<1, 1, 1, 1, 8>, Stride<8, 8, 8, 8, 1>>;' \
        'void F(A &a, B &b, Tile<TileType::Vec, float, 1, 8> &t) {' '    comm::TPUT(a, b, t);' '}' >types.cpp
    printf '%s\n' '#include "pto/pto-inst.hpp"' 'void F() {' '    int unused = 1 << 2;' '}' >unused.cpp
    for compiler in "${compilers[@]}"; do
        export CXX=$compiler
        expect 1 'line.cpp:6:' "$tern" kernel-cc -c line.cpp
        expect 1 'types.cpp:6:' "$tern" kernel-cc -c types.cpp
        expect 1 'destination and source have one element type' "$tern" kernel-cc -c types.cpp
        expect 1 'unused.cpp:3:' "$tern" kernel-cc -Wall -Werror -c unused.cpp
        unset CXX
    done
}

# Each rule that is checked when compiling, as the body of a function: it is refused with these words.
refuses_when_compiling() {
    refused() {
        printf '%s\n' '#include "pto/comm/pto_comm_inst.hpp"' 'using namespace pto;' \
            'template <typename T, Layout L = Layout::ND> using G =' \
            '    GlobalTensor<T, Shape<1, 1, 1, 1, 8>, Stride<8, 8, 8, 8, 1>, L>;' \
            'template <typename T> using V = Tile<TileType::Vec, T, 1, 32>;' \
            'void F(G<float> &f, G<int> &i, G<int, Layout::DN> &d, V<int> &t, V<float> &u,' \
            '       comm::ParallelGroup<G<int>> &g, comm::AsyncSession &s)' "{ $2; }" \
            'void Unused() { (void)F; }' >refused.cpp
        expect "${3:-1}" "$1" "$tern" kernel-cc -fsyntax-only -c refused.cpp
    }
    refused '' 'comm::TPUT(i, i, t); comm::TPUT_ASYNC(i, i, s); comm::TWAIT(i, 1, comm::WaitCmp::EQ)' 0
    refused 'one element type' 'comm::TGET(i, f, u)'
    refused 'one layout' 'comm::TPUT(i, d, t)'
    refused "tile has the tensor's element type" 'comm::TPUT(i, i, u)'
    refused 'a signal has int32_t' 'comm::TNOTIFY(f, 1, comm::NotifyOp::Set)'
    refused 'a signal has int32_t' 'comm::TWAIT(f, 1, comm::WaitCmp::EQ)'
    refused 'a signal has int32_t' 'comm::TTEST(f, 1, comm::WaitCmp::EQ)'
    refused 'one element type' 'comm::TGATHER(g, f, u)'
    refused 'one element type' 'comm::TPUT_ASYNC(i, f, s)'
    refused 'as many arguments' '(void)Shape<1, DYNAMIC, DYNAMIC, 1, 1>(4)'
    refused 'multiple of 32 bytes' 'Tile<TileType::Vec, float, 1, 7> bad'
    refused 'error' 'comm::TPUT(G<int>(), i, t)'
    refused 'error' 'comm::TNOTIFY(comm::Signal(nullptr), 1, comm::NotifyOp::Set)'
    refused 'error' 'comm::TPUT_ASYNC(i, i, s, 0u)' # the form with a peer is of the a5
}

refuses_wrong_usage() {
    expect 2 'no source given' "$tern" kernel-cc
    expect 2 'no source given' "$tern" kernel-cc -O2 -o program
    expect 2 '-o needs the name of a file' "$tern" kernel-cc kernel.cpp -o
    expect 2 '-o is for one source' "$tern" kernel-cc -c kernel.cpp host.cpp -o both.o
    CXX=no-such-compiler expect 1 "cannot run 'no-such-compiler'" "$tern" kernel-cc kernel.cpp
    expect 1 'missing.cpp' "$tern" kernel-cc missing.cpp -o program
    expect 1 'No space left' bash -c "'$tern' kernel-cc -E host.cpp >/dev/full"
    expect 0 'usage: tern kernel-cc' "$tern" kernel-cc --help
}

# Alone, in either order, and with what is in namespaces made visible, by both standards. What a header lacks one
# compiler finds; the other reads all of them at once, for its warnings, but those of one runtime (simpler.sh).
headers_stand_alone() {
    local compiler header standard include=$root/include
    local both="'$include/faces/pto/comm/pto_comm_inst.hpp' -include '$include/faces/pto/pto-inst.hpp'"
    printf '%s\n' '#include "pto/pto-inst.hpp"' '#include "pto/comm/pto_comm_inst.hpp"' \
        'using namespace pto; using namespace pto::comm;' '#include "acl/acl.h"' '#include <map>' \
        'Signal signal_; half half_ = 1; Tile<TileType::Vec, half, 1, 16> tile_;' >visible.cpp
    (cd "$include/faces" && find . -name '*.h' -o -name '*.hpp') | sort >headers
    sed '/simpler.*\(april\|august\|_graph\|ringbuffer\)/d; s/.*/#include "&"/' headers >all.cpp
    [ "$(wc -l <all.cpp)" -ge 40 ] || die "not all headers are read at once: $(cat all.cpp)"
    for compiler in "${compilers[@]}"; do
        for standard in $([ "$compiler" = g++ ] && echo c++17 || echo c++20); do
            local command="$compiler -std=$standard -fsyntax-only -Wall -Wextra -Wpedantic -Werror"
            command+=" -I'$include' -I'$include/faces'"
            if [ "$compiler" = g++ ]; then
                sed "s|.*|$command -include '&' -x c++ /dev/null|" headers
            else
                echo "$command all.cpp"
            fi
            echo "$command -include $both -x c++ /dev/null"
            echo "$command visible.cpp"
        done
    done | two_at_a_time
}

TMPDIR=$dir
export TMPDIR
write_sources
refuses_wrong_usage
compiles_without_warnings
runs_the_matrix
runs_in_silence_when_checked
runs_without_a_launcher
links_in_all_ways
cleans_up_when_it_is_ended
names_files_and_lines
refuses_when_compiling
headers_stand_alone
echo "pto.sh: ${compilers[*]}, all verified in $SECONDS s"
