# SPDX-License-Identifier: Apache-2.0
"""The example runner: compiles a folder of kernels, runs it on n ranks and verifies the results.

`run_example.py` is the command; docs/example-runner.md has the contract. Nothing here loads
libtern: the ranks are programs of their own.
"""
