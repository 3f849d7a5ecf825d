#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 60
# python/tern finds the library, knows its functions as the headers declare them, and its statuses.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
run_pytest test_library.py
