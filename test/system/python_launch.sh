#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# python/tern: tern.launch and what ends its ranks; Ctrl-C and other signals in calls that wait.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
run_pytest test_launch.py test_launch_signals.py test_interrupt.py
