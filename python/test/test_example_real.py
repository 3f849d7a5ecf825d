# SPDX-License-Identifier: Apache-2.0
"""The command on the real `tern`: compiled kernels, ranks, deaths, deadlines, traces.

TERN_BUILD_DIR names the build. Kernels here are plain C++, which compiles fast; those of the tile
instructions are the folders of examples/folders.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from example_fixtures import CONFIG, PYTHON, SINGLE_CONFIG, Folder

BUILD = Path(os.environ.get("TERN_BUILD_DIR", str(PYTHON.parent / "build" / "release")))
TERN = Path(os.environ.get("TERN_TEST_COMMAND", str(BUILD / "bin" / "tern")))

ORCHESTRATION = """
#include "runtime.h"
extern "C" int build_graph(Runtime *runtime, uint64_t *args, int count)
{
    return runtime->add_task(args, count, 0, CoreType::AIV) < 0 ? 1 : 0;
}
"""

KERNEL = """
#include <cstdint>
#include "comm_context.h"
#include "step.h"
#ifndef __DAV_VEC__
#error a vector kernel
#endif
extern "C" void kernel_entry(int64_t *args)
{
    auto *x = reinterpret_cast<float *>(args[0]), *y = reinterpret_cast<float *>(args[1]);
    auto *context = reinterpret_cast<CommDeviceContext *>(args[4]);
    for (int i = 0; i < 4; i++) {
        float sum = 0;
        for (int rank = 0; rank < args[2]; rank++) {
            uint64_t offset = reinterpret_cast<uint64_t>(x) - context->windowsIn[context->rankId];
            sum += reinterpret_cast<float *>(context->windowsIn[rank] + offset)[i];
        }
        y[i] = STEP(sum);
    }
}
"""

GOLDEN = """
def generate_distributed_inputs(rank, nranks, root):
    return [("x", [i + 100.0 * rank for i in range(4)])]

def compute_golden(tensors, params):
    n = params["nranks"]
    tensors["y"][:] = [n * i + 50.0 * n * (n - 1) for i in range(4)]
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def has_ranks():
    text = subprocess.run([str(TERN), "example", "rank", "--help"], capture_output=True, text=True,
                          check=False).stdout
    if "--win-buffer" not in text:
        pytest.skip(f"{TERN} has no 'example rank'")


@pytest.fixture
def folder(tmp_path, cache):
    made = Folder(tmp_path / "f", CONFIG, GOLDEN)
    made.cache = cache
    (made.kernels / "orch.cpp").write_text(ORCHESTRATION)
    (made.kernels / "kernel.cpp").write_text(KERNEL)
    (made.kernels / "step.h").write_text("#define STEP(sum) sum\n")
    time.sleep(0.03)
    return made


def run(folder, *flags, **more):
    return folder.run(*flags, tern=str(TERN), **more)


def test_it_compiles_runs_verifies_and_compiles_again(folder):
    for nranks in ("1", "3"):
        status, out, err = run(folder, "--nranks", nranks, "-n", "2")
        assert status == 0, out + err
        assert out.count("VERIFY PASSED") == int(nranks)
    assert "2 from the cache" in out
    (folder.kernels / "step.h").write_text("#define STEP(sum) ((sum) + (context->rankId == 1))\n")
    status, out, err = run(folder)
    assert status == 1 and "1 from the cache" in out
    assert "  rank 1 y[0]: got 101.0, expected 100.0" in out.splitlines()
    assert "VERIFY PASSED: rank 0 y — 4 elements correct" in out
    assert "VERIFY FAILED: rank 1 y — 4/4 mismatches" in out


def test_every_round_begins_with_the_inputs(folder):
    """Also of a buffer that is input and output."""
    config = folder.kernels / "kernel_config.py"
    config.write_text(CONFIG.replace('"outputs": ["y"]', '"outputs": ["x", "y"]'))
    (folder.kernels / "kernel.cpp").write_text("""
#include <cstdint>
extern "C" void kernel_entry(int64_t *args)
{
    for (int i = 0; i < 4; i++) {
        reinterpret_cast<float *>(args[0])[i] += 1;
        reinterpret_cast<float *>(args[1])[i] = reinterpret_cast<float *>(args[0])[i] * 2;
    }
}
""")
    folder.golden.write_text(GOLDEN.split("def compute_golden")[0] + """
def compute_golden(tensors, params):
    tensors["x"][:] = [i + 100.0 * params["rank"] + 1 for i in range(4)]
    tensors["y"][:] = [2 * x for x in tensors["x"]]
""")
    time.sleep(0.03)
    status, out, err = run(folder, "-n", "3")
    assert status == 0 and out.count("VERIFY PASSED") == 4, out + err


def test_an_error_of_the_compiler_in_a_header(folder):
    (folder.kernels / "step.h").write_text("\n#define STEP(sum) sum\nint x = not_there;\n")
    status, _, err = run(folder)
    assert status == 1 and f"{folder.kernels}/step.h:3:9: error:" in err.replace("In file", "\n")
    assert "'not_there' was not declared" in err.replace("‘", "'").replace("’", "'")


def test_results_on_the_root_alone(folder):
    (folder.kernels / "step.h").write_text(
        "#define STEP(sum) sum; if (context->rankId != args[3]) return\n")
    text = KERNEL.replace("    for (int i = 0; i < 4; i++) {",
                          "    if (static_cast<int>(context->rankId) != args[3]) return;\n"
                          "    for (int i = 0; i < 4; i++) {")
    (folder.kernels / "kernel.cpp").write_text(text)
    status, out, _ = run(folder)
    assert status == 1 and "VERIFY PASSED: rank 0 y" in out
    assert "VERIFY FAILED: rank 1 y — no kernel wrote it on this rank" in out
    status, out, _ = run(folder, "--verify", "root")
    assert status == 0 and "VERIFY SKIPPED: rank 1 y" in out


@pytest.mark.parametrize("placement, what", [
    ("device", "buffer 'y': at byte 24 of 16"), ("window", "the window: at byte 296 of 288")])
def test_a_kernel_that_writes_behind_its_buffer(folder, placement, what):
    (folder.kernels / "step.h").write_text(
        "#define STEP(sum) sum; if (context->rankId == 1) y[6] = 0\n")
    config = folder.kernels / "kernel_config.py"
    config.write_text(CONFIG.replace('"device"', f'"{placement}"'))
    status, out, _ = run(folder)
    assert status == 1
    assert ("The run failed: rank 1 exited with status 6: a kernel has written behind the end of "
            f"{what}\n") in out


def test_what_a_rank_says_at_its_end(folder):
    text = ORCHESTRATION.replace("? 1 : 0", "? 1 : 7")
    (folder.kernels / "orch.cpp").write_text(text)
    status, out, _ = run(folder, "--nranks", "1")
    assert status == 1
    assert "The run failed: rank 0 exited with status 6: init_runtime failed" in out


@pytest.mark.parametrize("what, line, timeout", [
    ("__builtin_trap()", "The run failed: rank 1 was killed by signal", "60"),
    ("for (;;) asm volatile(\"\")", "task 'kernel' is running on AIV", "5"),
])
def test_a_rank_that_dies_or_hangs(folder, what, line, timeout):
    (folder.kernels / "step.h").write_text(
        f"#define STEP(sum) sum; if (context->rankId == 1) {{ {what}; }}\n")
    status, out, _ = run(folder, "--timeout", timeout, "--json", "r.json")
    assert status == 1, out
    assert any("The run failed: " in one and line in one for one in out.splitlines()), out
    assert "--- RANK 0 (last 5 lines) ---" in out and "--- RANK 1 (last 5 lines) ---" in out
    assert "Rank 1: FAILED (" in out
    assert json.loads((folder.path / "r.json").read_text())["runs"][0]["passed"] is False


def test_a_kernel_that_cannot_be_ended(folder):
    (folder.kernels / "step.h").write_text("#define STEP(sum) sum; for (;;) asm volatile(\"\")\n")
    status, out, _ = run(folder, "--timeout", "2", "--nranks", "1")
    assert status == 1 and "Rank 0: FAILED (exit code 124)" in out
    assert re.search(r"The run failed: ended after the timeout of 2 s: run 0 of a graph on rank 0: .*"
                     r"task 'kernel' is running on AIV", out), out


def test_an_interrupt_leaves_no_rank(folder, tmp_path):
    begun = tmp_path / "begun"
    (folder.kernels / "step.h").write_text(
        "#include <cstdio>\n#include <unistd.h>\n"
        "#define STEP(sum) sum; if (context->rankId == 0) { FILE *f = fopen(\"" + str(begun) +
        "\", \"w\"); fprintf(f, \"%d\", getpid()); fclose(f); } for (;;) pause()\n")
    process = subprocess.Popen(folder.command(), cwd=folder.path, stdout=subprocess.DEVNULL,
                               env=folder.environment(str(TERN)))
    try:
        last = time.monotonic() + 60
        while not (begun.exists() and begun.read_text()):
            assert time.monotonic() < last and process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    finally:
        process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
    assert os.listdir(folder.path / "tmp") == []


def test_a_trace(folder):
    status, out, err = run(folder, "--nranks", "3", "--trace", "t.json")
    assert status == 0, out + err
    events = json.loads((folder.path / "t.json").read_text())["traceEvents"]
    ranks = {event["pid"] for event in events if event.get("name") == "kernel"}
    assert len(ranks) == 3, "the name of the kernel's source, in the rows of all ranks"


def test_a_page_of_the_run(folder):
    pytest.importorskip("tern.timeline", reason="tern.timeline is not in this tree")
    status, out, err = run(folder, "--timeline", "t.html")
    assert status == 0, out + err
    text = (folder.path / "t.html").read_text()
    assert text.lstrip().lower().startswith("<!doctype html") and "kernels, 2 ranks" in text


def test_a_single_chip(tmp_path, cache):
    golden = """
import ctypes
import numpy as np
__outputs__ = ["f"]
def generate_inputs(params):
    return [("a", np.arange(8, dtype=np.float32)), ("f", np.zeros(8, np.float32)),
            ("scale", ctypes.c_float(2.5)), ("n", ctypes.c_int64(8))]
def compute_golden(tensors, params):
    tensors["f"][:] = tensors["a"] * 2.5
"""
    folder = Folder(tmp_path / "s", SINGLE_CONFIG.replace("aic", "aiv"), golden)
    folder.cache = cache
    (folder.kernels / "orch.cpp").write_text("""
#include "runtime.h"
extern "C" int build_graph(Runtime *runtime, uint64_t *args, int count)
{
    const HostApi &api = runtime->host_api;
    void *a = api.device_malloc(args[2]), *f = api.device_malloc(args[3]);
    api.copy_to_device(a, reinterpret_cast<void *>(args[0]), args[2]);
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[1]), f, args[3]);
    uint64_t task[] = {reinterpret_cast<uint64_t>(a), reinterpret_cast<uint64_t>(f), args[4],
                       args[5]};
    return count == 6 && runtime->add_task(task, 4, 0, CoreType::AIV) >= 0 ? 0 : 1;
}
""")
    (folder.kernels / "kernel.cpp").write_text("""
#include <cstdint>
#include <cstring>
extern "C" void kernel_entry(int64_t *args)
{
    float scale;
    std::memcpy(&scale, &args[2], sizeof scale);
    for (int64_t i = 0; i < args[3]; i++)
        reinterpret_cast<float *>(args[1])[i] = reinterpret_cast<float *>(args[0])[i] * scale;
}
""")
    status, out, err = run(folder)
    assert status == 0, out + err
    assert "  f: PASS (8/8 elements matched)" in out
    folder.golden.write_text(golden.replace("return [", "return [*(('x%d' % i, np.zeros(1)) for i "
                                            "in range(64)), "))
    status, out, _ = run(folder)
    assert status == 1
    assert ("The run failed: rank 0 exited with status 1: 66 tensors and 68 scalars are arguments; "
            "an orchestration has at most 64 and 128\n") in out
