#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of its backends, which it ships, with tern in the place of Gloo:

    pytorch.py [-n RANKS] [--backend gloo] [--only WORD]... [--log FILE]

The tests that are meant for Gloo run as they are, but ProcessGroupGloo is tern's. exceptions.txt has those
that cannot pass, each with its reason; the exit status is 0 when all others pass, or are skipped by
PyTorch itself."""

import argparse
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def read_exceptions():
    """{name: reason}."""
    lines = (HERE / "exceptions.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(None, 1) for line in lines if line and not line.startswith("#"))
    return dict(pairs)


def swap():
    """ProcessGroupGloo is tern's from now on, but for the helper of the wrapper that checks calls."""
    import torch.distributed.distributed_c10d as c10d
    import tern_torch
    gloo = c10d.ProcessGroupGloo

    def create(store, rank, size, timeout):
        return tern_torch._C.create(store, rank, size, timeout)

    def wrap(wrapped_pg, store_prefix, store, rank, world_size, timeout=c10d.default_pg_timeout):
        store = c10d.PrefixStore(f"{c10d.PG_WRAPPER_STORE_PREFIX}:{store_prefix}", store)
        return c10d._ProcessGroupWrapper(wrapped_pg, gloo(store, rank, world_size, timeout=timeout))
    c10d.ProcessGroupGloo = create
    c10d._create_process_group_wrapper = wrap


def load(backend):
    """The class of the tests."""
    try:
        import expecttest  # noqa: F401
    except ImportError:  # Debian has no such package, and these tests use its class as unittest's alone
        module = types.ModuleType("expecttest")
        module.TestCase, module.ACCEPT = unittest.TestCase, False
        sys.modules["expecttest"] = module
    import torch
    from torch.testing._internal.distributed import distributed_test

    plain = distributed_test.get_profiling_event

    def get_profiling_event(postfix, profiler):  # tern's events have its own name
        events = plain(postfix.replace("gloo:", f"{backend}:"), profiler)
        for event in events:
            event.name = event.name.replace(f"{backend}:", "gloo:")
        return events
    distributed_test.get_profiling_event = get_profiling_event
    if sys.version_info >= (3, 11):  # which torch 1.13's replicated tensors cannot be imported with
        from torch.nn.parallel import _replicated_tensor_ddp_utils as replicated
        replicated._set_ddp_with_replicated_tensor = lambda _: None

    class Tests(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        """Forked ranks: none has made a call before."""

        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)
    Tests.__name__ = Tests.__qualname__ = "Tests"
    return Tests


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("--backend", choices=("tern", "gloo"), default="tern")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--log", default=os.devnull)
    args = parser.parse_args()
    folder = tempfile.TemporaryDirectory(prefix="tern-torch-")
    os.environ.update(BACKEND="gloo", WORLD_SIZE=str(args.n), TEMP_DIR=folder.name,
                      DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="120")
    for name in ("barrier", "test_dir", "init_dir"):
        os.makedirs(os.path.join(folder.name, name), exist_ok=True)
    sys.argv[1:] = []
    if args.backend == "tern":
        swap()
    tests = load(args.backend)
    exceptions = read_exceptions() if args.backend == "tern" else {}
    counts, failed = {"ok": 0, "skipped": 0, "excepted": 0}, []
    with open(args.log, "a", encoding="utf-8") as log:
        for name in unittest.TestLoader().getTestCaseNames(tests):
            if args.only and not any(word in name for word in args.only):
                continue
            if name in exceptions:
                counts["excepted"] += 1
                continue
            begun, result = time.monotonic(), unittest.TestResult()
            sys.stderr.flush()
            saved = os.dup(2), os.dup(1)
            os.dup2(log.fileno(), 2)
            os.dup2(log.fileno(), 1)
            tests(name).run(result)
            os.dup2(saved[0], 2)
            os.dup2(saved[1], 1)
            for fd in saved:
                os.close(fd)
            words = "".join(text for _, text in result.errors + result.failures)
            state = "failed" if words else "skipped" if result.skipped else "ok"
            if words:
                failed.append(name)
                log.write(f"--- {name}\n{words}\n")
                log.flush()
            else:
                counts[state] += 1
            print(f"{state:8} {time.monotonic() - begun:6.1f} s  {name}", flush=True)
    print(f"{args.backend}, {args.n} ranks: {counts['ok']} passed, {counts['skipped']} skipped by PyTorch, "
          f"{counts['excepted']} exceptions, {len(failed)} failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
