# SPDX-License-Identifier: Apache-2.0
"""A run from the command line to the verdict: config, compile, data, ranks, verification."""

from __future__ import annotations

import dataclasses
import os
import signal
from typing import List, Optional, Tuple

from . import distributed, single
from .build import Builder, Built, check_built, plan_jobs
from .buffers import read_verify
from .cache import Cache, default_folder
from .config import Config, load_config, with_rounds
from .data import Workspace
from .golden import Golden, cases_of
from .interrupts import handled
from .options import Options, parse_options
from .output import Output, complain, standard_output
from .problem import Interrupted, Problem
from .ranks import Place, common_words, distributed_words, environment, find_tern, run_ranks
from .report import Report, check_writable, write_timeline

_USER_CODE = 10  # times the limit of the ranks


class Run:
    """One run of a folder; a folder of a single chip may have several cases."""

    def __init__(self, options: Options, output: Output, report: Report) -> None:
        self.options = options
        self.output = output
        self.report = report
        self.tern = find_tern()
        seconds = options.timeout * _USER_CODE
        self.config = self._load_config(seconds)
        self.golden = Golden(options.golden, seconds)
        self.rounds = with_rounds(self.config, options.rounds)
        report.config(self.config, self.rounds)

    def _load_config(self, seconds: float) -> Config:
        options = self.options
        if options.platform is not None:
            os.environ["PTO_PLATFORM"] = options.platform
        os.environ.setdefault("PTO_PLATFORM", "a2a3")
        if options.nranks is not None:
            os.environ["TERN_EXAMPLE_NRANKS"] = str(options.nranks)
        config = load_config(options.kernels, options.nranks, seconds)
        table = config.distributed
        if table is None:
            if options.verify not in (None, "all", "root", [0]):
                raise Problem("a single chip is rank 0", "--verify")
            return config
        if options.case is not None or options.run_all:
            raise Problem("folders with DISTRIBUTED_CONFIG have no cases",
                          "--case" if options.case is not None else "--all")
        if options.verify is not None:
            verify = read_verify(options.verify, "--verify", list(table.outputs), table.nranks,
                                 table.root)
            table = dataclasses.replace(table, verify=verify)
            config = dataclasses.replace(config, distributed=table)
        return config

    def execute(self) -> bool:
        """True: verified, or run where nothing is to be verified."""
        if self.config.distributed is not None:
            return self._distributed()
        return self._single()

    def _workspace(self) -> Workspace:
        """Of a run on several machines, in the working folder, which `tern run` wants on each."""
        options = self.options
        return Workspace(options.savetemp, os.getcwd() if options.hosts is not None else None)

    def _compile(self, space: Workspace) -> Built:
        folder = default_folder() if self.options.cache else None
        cache = Cache(folder) if folder is not None else None
        builder = Builder(self.tern, self.config.runtime.runtime, cache, self.output.debug)
        with self.output.phase("compile") as phase:
            built = plan_jobs(self.config, self.tern, self.output.debug)
            count = len(built.jobs)
            builder.run(built.jobs, space.objects,
                        lambda done: phase.update(f"{done} of {count} sources"))
            cached = sum(job.cached for job in built.jobs)
            phase.note = f"{count} sources, {cached} from the cache"
        self.report.data["compiled"] = [
            {"source": str(job.source), "seconds": round(job.seconds, 6), "cached": job.cached,
             "status": job.status, "messages": job.messages} for job in built.jobs]
        check_built(built, self.config)
        for job in built.jobs:
            if job.messages:
                self.output.say(job.messages, "warn")
        return built

    def _run_ranks(self, nranks: int, words: List[str], space: Workspace,
                   case: Optional[str]) -> dict:
        """Runs a job; what it says about its ranks, for the report."""
        options, output = self.options, self.output
        trace = options.trace
        if trace is None and options.timeline is not None:
            trace = space.folder / "trace.json"
        output.debug(" ".join(["tern example rank", *words]))
        with output.phase("run") as phase:
            place = Place(nranks, options.hosts, options.agent, tuple(self.config.environment))
            outcome = run_ranks(self.tern, place, words, space, options.timeout,
                                environment(self.config, options.timeout), trace, phase.update)
            if self.config.distributed is not None:
                phase.update()
                distributed.say_ends(outcome, output)
            phase.note = f"{nranks} ranks" if outcome.passed else outcome.cause
        if trace is not None:
            title = f"{options.kernels.name}, {nranks} ranks"
            write_timeline(trace, options.timeline, title if case is None else f"{title}, {case}")
        run = {"case": case, "passed": outcome.passed, "cause": outcome.cause,
               "ranks": [dataclasses.asdict(end) for end in outcome.ranks], "outputs": []}
        self.report.add_run(run)
        if not outcome.passed and self.config.distributed is None:
            output.say("--- RANK 0 (last 5 lines) ---", "error")
            for line in outcome.ranks[0].tail:
                output.say(line, "error")
        if not outcome.passed:
            output.say(f"The run failed: {outcome.cause}", "error")
        return run

    def _distributed(self) -> bool:
        config, golden, output = self.config, self.golden, self.output
        assert config.distributed is not None
        skip = self.options.skip_golden
        golden.check_functions("generate_distributed_inputs", *([] if skip else ["compute_golden"]))
        if not skip:
            distributed.check_outputs(config)
        output.say("Detected DISTRIBUTED_CONFIG — using distributed runner")
        with self._workspace() as space:
            built = self._compile(space)
            distributed.write_inputs(config, golden, space, output)
            nranks = config.distributed.nranks
            output.say(f"=== Launching {nranks} workers ===")
            words = distributed_words(config) + common_words(config, built, space, self.rounds)
            run = self._run_ranks(nranks, words, space, None)
            if not run["passed"] or skip:
                return bool(run["passed"])
            with output.phase("verify") as phase:
                results = distributed.compare_outputs(config, golden, space)
                passed = distributed.say_results(config, results, output)
                elements = sum(one.elements for one in results.values())
                phase.note = f"{len(results)} outputs, {elements} elements"
            run["outputs"] = distributed.report_of(results)
            return passed

    def _single(self) -> bool:
        golden, options = self.golden, self.options
        golden.check_functions("generate_inputs", *([] if options.skip_golden else
                                                    ["compute_golden"]))
        cases = cases_of(golden, options.case, options.run_all)
        if len(cases) > 1 and (options.trace or options.timeline):
            raise Problem("a trace is of one case; select it with --case", "--all")
        with self._workspace() as space:
            built = self._compile(space)
            failed = [str(case) for case, params in cases
                      if not self._tried(case, params, built, space, len(cases) == 1)]
            if len(cases) > 1 and failed:
                self.output.say(f"{len(failed)} of {len(cases)} cases failed: {', '.join(failed)}",
                                "error")
            return not failed

    def _tried(self, case: Optional[str], params: dict, built: Built, space: Workspace,
               alone: bool) -> bool:
        """A case; of several, one that cannot be run does not keep the others from it."""
        try:
            return self._case(case, params, built, space)
        except Problem as problem:
            if alone:
                raise
            self.output.problem(problem)
            self.report.case_problem(case, problem)
            return False

    def _case(self, case: Optional[str], params: dict, built: Built, space: Workspace) -> bool:
        output = self.output
        if case is not None:
            output.say(f"=== Case {case} ===")
        inputs = single.make_inputs(self.golden, params, self.config.runtime.runtime, space,
                                    output)
        words = common_words(self.config, built, space, self.rounds) + list(inputs.words)
        run = self._run_ranks(1, words, space, case)
        if not run["passed"] or self.options.skip_golden:
            return bool(run["passed"])
        with output.phase("verify") as phase:
            results = single.compare_outputs(self.golden, inputs, space, output)
            passed = single.say_results(inputs, results, output)
            phase.note = f"{len(results)} outputs"
        run["outputs"] = distributed.report_of(results)
        return passed


def _run(options: Options, output: Output, report: Report) -> bool:
    """What the system refuses, on whichever way, is a sentence as well."""
    try:
        return Run(options, output, report).execute()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Problem(str(error.strerror or error), error.filename) from None
    except MemoryError:
        raise Problem("there is not enough memory for the data") from None


def _execute(options: Options, idle: List[str], output: Output, report: Report) -> int:
    """The exit status; sentences about what went wrong are printed here."""
    verified = "not verified" if options.skip_golden else "passed"
    try:
        for sentence in idle:
            output.debug(sentence)
        check_writable(options)
        passed = _run(options, output, report)
        report.data["verdict"] = verified if passed else "failed"
    except Problem as problem:
        report.problem(problem)
        report.data["verdict"] = "failed"
        output.problem(problem)
        passed = False
    if passed and options.skip_golden:
        output.say("TEST RUN, not verified (--skip-golden)")
    else:
        output.say("TEST PASSED" if passed else "TEST FAILED", "info" if passed else "error")
    return 0 if passed else 1


def _guarded(options: Options, idle: List[str], output: Output,
             report: Report) -> Tuple[int, Optional[BaseException]]:
    try:
        return _execute(options, idle, output, report), None
    except Interrupted as error:
        return 128 + error.number, error
    except BrokenPipeError as error:
        return 128 + signal.SIGPIPE, error
    except OSError as error:  # all others are Problems: of the lines themselves
        problem = Problem(f"cannot be written: {error.strerror}", "standard output")
        complain(problem)
        report.problem(problem)
        report.data["verdict"] = "failed"
        return 1, None


def main(arguments: List[str]) -> int:
    """Runs the command line; returns the exit status."""
    options, idle = parse_options(arguments)
    output = Output(options.level, standard_output())
    report = Report(options)
    with handled():
        status, ended = _guarded(options, idle, output, report)
    if ended is not None:
        report.data["verdict"] = "interrupted"
    return _finish(status, output, report)


def _finish(status: int, output: Output, report: Report) -> int:
    try:
        output.flush()
    except BrokenPipeError:
        status = status or 128 + signal.SIGPIPE
    except OSError:
        status = status or 1
    try:
        report.write(status, output.seconds)
    except Problem as problem:
        complain(problem)
        status = status or 1
    output.close()
    return status
