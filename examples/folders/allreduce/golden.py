# SPDX-License-Identifier: Apache-2.0
"""The inputs and the sums of treduce_distributed; here every rank gets the sum."""

from pathlib import Path
from runpy import run_path

_treduce = run_path(str(Path(__file__).resolve().parents[1] / "treduce_distributed" / "golden.py"))

generate_distributed_inputs = _treduce["generate_distributed_inputs"]
compute_golden = _treduce["compute_golden"]
RTOL = _treduce["RTOL"]
ATOL = _treduce["ATOL"]
