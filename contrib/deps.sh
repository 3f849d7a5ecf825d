#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs, through apt, what the build needs and this machine lacks; says nothing when all is there.
#   contrib/deps.sh            compilers, build tools, cmocka, OpenBLAS, GLPK, NumPy, pytest, pip
#   contrib/deps.sh --check    installs nothing: fails with a sentence when a tool that the build cannot
#                              do without is missing, wherever it comes from
#   contrib/deps.sh --bench    also Open MPI, MPICH, StarPU and mpi4py, the peers; their absence is not an error
#   contrib/deps.sh --tools    also clang, clang-tidy, clang-format, libFuzzer; ip, which test networks; SimGrid, the
#                              simulator's yardstick
#   contrib/deps.sh --torch    also Debian's torch and its headers, for contrib/torch
#   contrib/deps.sh --browser  also Chromium and its driver, which test pages; their absence is no error
set -euo pipefail

needed=(gcc g++ cmake ninja-build pkg-config libcmocka-dev libopenblas-dev python3
    python3-numpy python3-pytest python3-pip libglpk-dev)
peers=()
check=no
browser=no
for arg in "$@"; do
    case $arg in
    --check) check=yes ;;
    --bench) peers+=(openmpi-bin libopenmpi-dev mpich libmpich-dev libstarpu-dev python3-mpi4py) ;;
    --tools) needed+=(clang clang-tidy clang-format libclang-rt-14-dev iproute2 libsimgrid-dev) ;;
    --torch) needed+=(python3-torch libtorch-dev python3-dev pybind11-dev) ;;
    --browser) browser=yes ;;
    *)
        echo "deps.sh: unknown argument '$arg' (--check, --bench, --tools, --torch, --browser)" >&2
        exit 2
        ;;
    esac
done

# What the build runs, and the package that has it.
check_tools() {
    local pair missing=()
    local -a tools=(cc:gcc c++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config
        python3:python3)
    [[ " ${needed[*]} " != *" clang "* ]] || tools+=(clang:clang clang++:clang)
    for pair in "${tools[@]}"; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair%%:*} (package ${pair#*:})")
    done
    if ! pkg-config --exists cmocka 2>/dev/null; then
        missing+=("cmocka (package libcmocka-dev)")
    fi
    [ ${#missing[@]} -eq 0 ] || {
        local joined
        printf -v joined ', %s' "${missing[@]}"
        echo "The build needs what is not installed: ${joined:2}. 'make deps' installs it." >&2
        exit 1
    }
}

if [ "$check" = yes ]; then
    check_tools
    exit 0
fi

installed() {
    dpkg -s "$1" 2>/dev/null | grep -q '^Status: .* installed$'
}

# Fills `missing` with those of the arguments that are not installed.
find_missing() {
    local package
    missing=()
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
}

# How to become root: nothing if we are, else sudo if it needs no password. Fails if neither.
as_root=()
can_install() {
    [ "$(id -u)" -eq 0 ] && return 0
    as_root=(sudo -n)
    command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

updated=no
install_packages() {
    local log
    log=$(mktemp)
    echo "deps.sh: installing $*"
    if [ "$updated" = no ]; then
        if ! "${as_root[@]}" apt-get -q update >"$log" 2>&1; then
            tail -n 5 "$log" >&2
        fi
        updated=yes
    fi
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install -y --no-install-recommends "$@" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
    echo "deps.sh: no apt here; assuming that these are installed: ${needed[*]}" >&2
    exit 0
fi

find_missing "${needed[@]}"
if [ ${#missing[@]} -gt 0 ]; then
    if ! can_install; then
        echo "deps.sh: please run: sudo apt-get install ${missing[*]}" >&2
        exit 1
    fi
    if ! install_packages "${missing[@]}"; then
        echo "deps.sh: apt-get could not install ${missing[*]}" >&2
        exit 1
    fi
fi

find_missing ${peers[@]+"${peers[@]}"}
if [ ${#missing[@]} -gt 0 ]; then
    if ! can_install || ! install_packages "${missing[@]}"; then
        echo "deps.sh: not installed, so the benchmark runs without these peers: ${missing[*]}" >&2
    fi
fi

# Node and npm may come from elsewhere than Debian, so commands are looked for, not packages.
install_browser() {
    local pair missing=()
    for pair in chromium:chromium node:nodejs npm:npm; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
    done
    [ ${#missing[@]} -eq 0 ] || { can_install && install_packages "${missing[@]}"; } || return 1
    cd "$(dirname "$0")/../test/browser"
    [ -d node_modules/playwright-core ] || npm ci --silent --no-audit --no-fund
}
if [ "$browser" = yes ] && ! install_browser; then
    echo "deps.sh: no Chromium, npm or playwright-core, so pages are not tested in a browser" >&2
fi
