#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 90
# Plans, task graphs and weight files from Python.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
run_pytest test_layouts.py test_plan.py test_sim.py test_execute.py test_graph.py test_node.py test_safetensors.py \
    test_docs_graphs.py
