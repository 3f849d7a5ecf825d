# SPDX-License-Identifier: Apache-2.0
"""A folder with DISTRIBUTED_CONFIG: data for every rank, one job, the outputs of every rank."""

from __future__ import annotations

from dataclasses import asdict
from typing import Dict, List, Optional, Set, Tuple

from .config import Config
from .data import Workspace, read_output
from .dtypes import numbers
from .golden import Golden, expected_outputs, inputs_of_rank
from .output import Output
from .problem import Problem
from .ranks import Outcome
from .verify import Compared, compare, failed

MOST_SHOWN = 3
Results = Dict[Tuple[int, str], Compared]


def write_inputs(config: Config, golden: Golden, space: Workspace, output: Output) -> None:
    table = config.distributed
    assert table is not None
    total = 0
    with output.phase("data") as phase:
        space.prepare(table.nranks)
        for rank in range(table.nranks):
            for name, data in inputs_of_rank(golden, table, rank).items():
                space.write(rank, name, data)
                total += len(data)
        phase.note = f"{table.nranks} ranks, {total} bytes"


def say_ends(outcome: Outcome, output: Output) -> None:
    """A line for each rank; when some failed, the end of every rank's log."""
    wrong = [end for end in outcome.ranks if not end.passed]
    level = "error" if wrong else "info"
    for end in outcome.ranks:
        if end.passed:
            output.say(f"Rank {end.rank}: OK", level)
        else:
            known = end.exit_code is not None
            code = f"exit code {end.exit_code}" if known else "ended with the job"
            output.say(f"Rank {end.rank}: FAILED ({code})", level)
    count = len(outcome.ranks)
    if not wrong:
        output.say(f"=== ALL {count} RANKS COMPLETED ===")
        return
    for end in outcome.ranks:
        output.say(f"--- RANK {end.rank} (last 5 lines) ---", "error")
        for line in end.tail:
            output.say(line, "error")
    output.say(f"=== {len(wrong)}/{count} RANKS FAILED ===", "error")


def _unwritten(space: Workspace, nranks: int) -> Set[Tuple[int, str]]:
    """Outputs that no kernel has written, as the ranks report them."""
    found = set()
    for rank in range(nranks):
        try:
            text = (space.data / f"rank_{rank}" / "unwritten").read_text()
        except OSError:
            continue
        found.update((rank, name) for name in text.splitlines())
    return found


def compare_outputs(config: Config, golden: Golden, space: Workspace) -> Results:
    """Every output on every rank that is to be verified, also after the first that is wrong."""
    table = config.distributed
    assert table is not None
    saved: Dict[Tuple[int, str], object] = {}

    def read(rank: int, name: str) -> object:
        if (rank, name) not in saved:
            buffer = table.buffer(name)
            found = read_output(space.file(rank, name), buffer.dtype, buffer.count)
            saved[rank, name] = found if isinstance(found, str) else found[:buffer.data_count]
        return saved[rank, name]

    def template(rank: int, name: str) -> Optional[list]:
        found = read(rank, name)
        return None if isinstance(found, str) else numbers(
            found, table.buffer(name).dtype).tolist()  # type: ignore[arg-type]

    expected = expected_outputs(golden, table, template)
    unwritten = _unwritten(space, table.nranks)
    results: Results = {}
    for rank in range(table.nranks):
        names = [name for name in table.outputs if rank in table.verify[name]]
        wanted = expected(rank) if names else {}
        for name in names:
            buffer = table.buffer(name)
            found = read(rank, name)
            if isinstance(found, str):
                results[rank, name] = failed(found, buffer.data_count)
            elif (rank, name) in unwritten:
                results[rank, name] = failed("no kernel wrote it on this rank", buffer.data_count)
            else:
                results[rank, name] = compare(found, wanted[name], buffer.dtype,  # type: ignore
                                              golden.rtol, golden.atol, MOST_SHOWN)
    return results


def say_results(config: Config, results: Results, output: Output) -> bool:
    """The lines of the verification; True when all has passed."""
    table = config.distributed
    assert table is not None
    for rank in range(table.nranks):
        for name in table.outputs:
            one = results.get((rank, name))
            if one is None:
                output.say(f"VERIFY SKIPPED: rank {rank} {name} — 'verify' does not name this rank")
            elif one.passed:
                output.say(f"VERIFY PASSED: rank {rank} {name} — {one.elements} elements correct")
                if rank == 0:
                    output.say(f"  Sample: [{', '.join(one.sample)}]")
            elif one.reason:
                output.say(f"VERIFY FAILED: rank {rank} {name} — {one.reason}", "error")
            else:
                for index, got, wanted in one.first:
                    output.say(f"  rank {rank} {name}[{index}]: got {got}, expected {wanted}",
                               "error")
                output.say(f"VERIFY FAILED: rank {rank} {name} — {one.mismatches}/{one.elements} "
                           "mismatches", "error")
    passed = all(one.passed for one in results.values())
    output.say(f"=== VERIFICATION {'PASSED' if passed else 'FAILED'} ===",
               "info" if passed else "error")
    if not passed:
        _hint_root(config, results, output)
    return passed


def _hint_root(config: Config, results: Results, output: Output) -> None:
    """The mistake of who brings a folder whose result is on the root alone."""
    table = config.distributed
    assert table is not None
    for name in table.outputs:
        mine = {rank: one for (rank, other), one in results.items() if other == name}
        others = [one for rank, one in mine.items() if rank != table.root]
        if (table.root in mine and mine[table.root].passed and others
                and not any(one.passed for one in others)):
            output.say(f"Only the root has the expected '{name}'. If that is meant, say "
                       '"verify": "root" in DISTRIBUTED_CONFIG, or --verify root.', "error")


def report_of(results: Results) -> List[dict]:
    rows = []
    for (rank, name), one in results.items():
        row = {"rank": rank, "name": name, "passed": one.passed, **asdict(one)}
        row["first"] = [{"index": i, "got": got, "expected": want} for i, got, want in one.first]
        rows.append(row)
    return rows


def check_outputs(config: Config) -> None:
    """A run that is to be verified needs something to verify."""
    assert config.distributed is not None
    if not config.distributed.outputs:
        raise Problem("there are no outputs, so nothing can be verified; name them, or run with "
                      "--skip-golden", f'{config.distributed.place}["outputs"]')
