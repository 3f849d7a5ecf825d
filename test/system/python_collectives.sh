#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# python/tern: every collective call, dtype and place of arrays, against NumPy.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
run_pytest test_collectives.py
