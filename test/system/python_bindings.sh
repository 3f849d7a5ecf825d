#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# python/tern: the library and its prototypes, communicators, windows and what outlives them, the
# comm_* functions, the examples of docs/python.md. Not the collectives and the launcher, which have scripts of their own.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
run_pytest test_library.py test_public.py test_versions.py test_comm.py test_window.py test_platform.py test_docs.py \
    test_misuse.py test_threads.py test_machines.py test_machines_calls.py
