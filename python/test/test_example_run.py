# SPDX-License-Identifier: Apache-2.0
"""The command as a person uses it, on a `tern` that only seems to compile and run: lines, exit
statuses, the report, and that nothing is left behind at any end."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from example_fixtures import (CONFIG, FAKE, GOLDEN, PYTHON, SINGLE_CONFIG, SINGLE_GOLDEN,
                              Folder)
from tern.example.data import sweep
from tern.example.output import Output
from tern.example.runner import main


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "f")


def without_times(text):
    return [line for line in text.splitlines()
            if line.split(" ")[0] not in ("compile", "data", "run", "verify")]


def test_the_lines_of_a_run_that_passes(folder):
    status, out, err = folder.run()
    assert (status, err) == (0, "")
    assert without_times(out) == [
        "Detected DISTRIBUTED_CONFIG — using distributed runner",
        "=== Launching 2 workers ===", "Rank 0: OK", "Rank 1: OK",
        "=== ALL 2 RANKS COMPLETED ===",
        "VERIFY PASSED: rank 0 y — 4 elements correct", "  Sample: [0.0, 1.0, 2.0, 3.0]",
        "VERIFY PASSED: rank 1 y — 4 elements correct",
        "=== VERIFICATION PASSED ===", "TEST PASSED"]
    phases = [line.split()[0] for line in out.splitlines() if line not in without_times(out)]
    assert phases == ["compile", "data", "run", "verify"]
    assert "2 sources, 0 from the cache" in out
    time.sleep(0.03)  # a source that is younger than that is not kept
    folder.run()
    assert "2 sources, 2 from the cache" in folder.run()[1]
    assert "2 sources, 0 from the cache" in folder.run("--no-cache")[1]


def test_the_lines_of_mismatches(folder):
    folder.golden.write_text(GOLDEN.replace("[float(i) for i in range(4)]\n", "[0, 9, 8, 7]\n"))
    status, out, err = folder.run()
    assert (status, err) == (1, "")
    assert without_times(out)[5:] == [
        "  rank 0 y[1]: got 1.0, expected 9.0", "  rank 0 y[2]: got 2.0, expected 8.0",
        "  rank 0 y[3]: got 3.0, expected 7.0", "VERIFY FAILED: rank 0 y — 3/4 mismatches",
        "  rank 1 y[1]: got 1.0, expected 9.0", "  rank 1 y[2]: got 2.0, expected 8.0",
        "  rank 1 y[3]: got 3.0, expected 7.0", "VERIFY FAILED: rank 1 y — 3/4 mismatches",
        "=== VERIFICATION FAILED ===", "TEST FAILED"]


WRONG_RANKS = {  # what a rank does: the line
    "nan 1": "  rank 1 y[0]: got nan, expected 0.0",
    "short 1": "VERIFY FAILED: rank 1 y — the rank has saved 15 bytes instead of 16",
    "missing 1": "VERIFY FAILED: rank 1 y — the rank has saved nothing",
    "unwritten 1": "VERIFY FAILED: rank 1 y — no kernel wrote it on this rank",
    "missing 0": "VERIFY FAILED: rank 0 y — the rank has saved nothing",
}


@pytest.mark.parametrize("ranks", WRONG_RANKS)
def test_a_rank_with_a_wrong_output(folder, ranks):
    status, out, _ = folder.run(FAKE_RANKS=ranks)
    assert status == 1 and WRONG_RANKS[ranks] in out.splitlines()
    assert out.endswith("TEST FAILED\n")
    other = 1 - int(ranks[-1])
    assert f"VERIFY PASSED: rank {other} y — 4 elements correct" in out, "all ranks are compared"
    assert ("say \"verify\": \"root\"" in out) == ranks.endswith("1")
    if ranks.endswith("1"):
        assert folder.run("--verify", "root", FAKE_RANKS=ranks)[0] == 0


def test_which_ranks_are_verified(folder):
    out = folder.run("--nranks", "5", "--verify", "1,3")[1]
    assert [line.split(":")[0] for line in out.splitlines() if "VERIFY " in line] == [
        "VERIFY SKIPPED", "VERIFY PASSED", "VERIFY SKIPPED", "VERIFY PASSED", "VERIFY SKIPPED"]


def test_a_rank_that_fails(folder):
    status, out, _ = folder.run("--nranks", "3", FAKE_RANKS="exit 1")
    assert status == 1
    lines = without_times(out)
    assert lines[2:5] == ["Rank 0: OK", "Rank 1: FAILED (exit code 6)", "Rank 2: OK"]
    for rank in range(3):
        begin = lines.index(f"--- RANK {rank} (last 5 lines) ---")
        assert lines[begin + 1] == f"[rank {rank}] line 2"
        assert lines[begin + 5] == ("so it goes" if rank == 1 else f"[rank {rank}] Done")
    assert lines[-3:] == ["=== 1/3 RANKS FAILED ===",
                          "The run failed: rank 1 exited with status 6", "TEST FAILED"]


def test_the_deadline(folder):
    status, out, _ = folder.run(FAKE_RANKS="timeout")
    assert status == 1 and "ended after the timeout of 1 s" in out


def test_skip_golden(folder):
    folder.golden.write_text(GOLDEN.replace("def compute_golden", "def other"))
    status, out, _ = folder.run("--skip-golden")
    assert status == 0 and "VERIFY" not in out
    assert out.endswith("TEST RUN, not verified (--skip-golden)\n")
    assert folder.run("--skip-golden", FAKE_RANKS="exit 0")[0] == 1
    status, out, err = folder.run()
    assert status == 1 and "there is no function compute_golden" in err and "compile" not in out


def test_what_ranks_are_told(folder, tmp_path):
    config = folder.kernels / "kernel_config.py"
    config.write_text(CONFIG.replace("RUNTIME_ENV = {}", 'RUNTIME_ENV = {"A_DIR": "here"}').replace(
        '"count": 4, "placement": "device"', '"count": 4, "placement": "device", '
        '"data_prefix_elems": 4').replace('"function_name": "build_graph"',
                                          '"function_name": "build_graph", "config_name": "conf"'))
    log = tmp_path / "log"
    status, _, err = folder.run("-n", "3", "--timeout", "20", "--device-range", "4-7", FAKE_LOG=str(
        log), FAKE_NAMES="build_graph conf kernel_entry")
    assert status == 0, err
    lines = log.read_text().splitlines()
    words = next(line for line in lines if line.startswith("run "))
    for part in ("-n 4 ", "--timeout 20 ", "--nranks 4 --root 0 --win-sync-prefix 256 ",
                 "--win-buffer x:float32:4 --dev-buffer y:float32:4 --load x --save y --arg x "
                 "--arg y --arg nranks --arg root --arg deviceCtx ",
                 "--orch-func build_graph --config-func conf --runtime host_build_graph "
                 "--aicpu-thread-num 1 --block-dim 1 --orch-thread-num 0 --rounds 3 ",
                 "--kernel-bin 0:kernel-0.so --kernel-name 0:kernel"):
        assert part in words + " "
    variables = next(line for line in lines if line.startswith("variables ")).split()
    assert f"A_DIR={folder.kernels}/here" in variables and "TERN_TIMEOUT=16" in variables
    compiled = [line for line in lines if "kernel.cpp" in line]
    assert len(compiled) == 1 and "-D__DAV_VEC__" in compiled[0]


def test_the_platform_is_for_the_config(folder):
    config = folder.kernels / "kernel_config.py"
    config.write_text("import os\nassert os.environ['PTO_PLATFORM'] == 'a5sim'\n" + CONFIG)
    assert folder.run("-p", "a5sim")[0] == 0
    status, _, err = folder.run()
    assert status == 1 and "kernel_config.py, line 2: it raises AssertionError" in err


def test_a_report(folder):
    folder.golden.write_text(GOLDEN.replace("[float(i) for i in range(4)]\n", "[0, 1, 2, 7]\n"))
    assert folder.run("--json", "r.json", FAKE_RANKS="nan 1")[0] == 1
    report = json.loads((folder.path / "r.json").read_text())
    assert (report["version"], report["mode"], report["verdict"]) == (1, "distributed", "failed")
    assert (report["nranks"], report["root"], report["exit_status"]) == (2, 0, 1)
    assert list(report["seconds"]) == ["compile", "data", "run", "verify"]
    assert [rank["exit_code"] for rank in report["runs"][0]["ranks"]] == [0, 0]
    first, second = report["runs"][0]["outputs"]
    assert (first["rank"], first["name"], first["mismatches"]) == (0, "y", 1)
    assert first["first"] == [{"index": 3, "got": "3.0", "expected": "7.0"}]
    assert second["mismatches"] == 2 and second["largest_error"] == 4
    folder.golden.write_text("import nothing_such\n")
    assert folder.run("--json", "r.json")[0] == 1
    report = json.loads((folder.path / "r.json").read_text())
    assert report["problem"]["sentence"].startswith("it raises ModuleNotFoundError")
    assert report["problem"]["place"] == f"{folder.golden}, line 1"
    assert [name for name in os.listdir(folder.path) if name.endswith(".tmp")] == []


@pytest.mark.parametrize("flags, sentence", [
    (("--nranks", "0"), "it must be 1 to 64, not 0"),
    (("--nranks", "two"), "'two' is no number"),
    (("--devices", "0,1,1"), "names a number twice"),
    (("--devices", "0,a"), "'a' is no number of a device"),
    (("--device-range", "7-4"), "'7-4' is no range"),
    (("--device-range", "4"), "'4' is no range, as 4-7 is"),
    (("--devices", "0,1", "--nranks", "3"), "--devices names 2 devices, but --nranks is 3"),
    (("--device-range", "0-70"), "--device-range names 71 devices; there are at most 64 ranks"),
    (("--devices", "0", "--device-range", "0-1"), "not allowed with argument"),
    (("--case", "a", "--all"), "not allowed with argument"),
    (("-v", "--silent"), "say different levels"),
    (("-p", "a6"), "invalid choice: 'a6'"),
    (("--savetemp", ""), "argument --savetemp: it is empty"),
    (("--timeout", "-1"), "it must be more than 0 seconds, not -1"),
    (("--no-such-flag",), "unrecognized arguments: --no-such-flag"),
])
def test_wrong_usage(capsys, flags, sentence):
    with pytest.raises(SystemExit) as caught:
        main(["-k", "x", "-g", "y", *flags])
    assert caught.value.code == 2 and sentence in capsys.readouterr().err


@pytest.mark.parametrize("flags, sentence", [
    (("--case", "a"), "--case: folders with DISTRIBUTED_CONFIG have no cases"),
    (("--all",), "--all: folders with DISTRIBUTED_CONFIG have no cases"),
    (("--verify", "0,2"), "--verify: it is 2; it must be 0 to 1"),
    (("--json", "no/such/r.json"), "--json: there is no folder"),
    (("--trace", "."), "is a folder"),
    (("--nranks", "2", "--verify", "all", "-g", "none.py"), "none.py: there is no such file"),
])
def test_what_does_not_fit_the_folder(folder, flags, sentence):
    status, out, err = folder.run(*flags)
    assert status == 1 and sentence in err and out == "TEST FAILED\n"


def test_levels(folder):
    assert folder.run("--silent")[:2] == (0, "")
    status, out, _ = folder.run("--silent", FAKE_RANKS="nan 0")
    assert status == 1 and out.endswith("TEST FAILED\n") and "VERIFY PASSED" not in out
    assert "kernel-cc --runtime host_build_graph" in folder.run("-v", "--no-cache")[1]
    debug = folder.run("-v", "-c", "abc", "--clone-protocol", "ssh", "-d", "3")[1]
    assert debug.count("has no effect") == 3


def test_savetemp(folder):
    for _ in range(2):
        assert folder.run("--savetemp", "kept", "--enable-profiling")[0] == 0
    kept = folder.path / "kept"
    found = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
    assert found == {".tern-example", "artifacts/orchestration.so", "artifacts/kernel-0.so",
                     "data/rank_0/x.bin", "data/rank_0/y.bin", "data/rank_1/x.bin",
                     "data/rank_1/y.bin",
                     "logs/launcher.log", "logs/rank-0.log", "logs/rank-1.log", "swimlane.json"}


def test_savetemp_removes_nothing_of_the_users(folder):
    (folder.path / "data").mkdir()
    (folder.path / "data" / "precious").write_text("x")
    status, _, err = folder.run("--savetemp", ".")
    assert status == 1 and "/data, which is not of a run before; select an empty folder" in err
    assert (folder.path / "data" / "precious").exists()


def test_a_second_signal_while_the_first_is_served(folder):
    folder.golden.write_text(GOLDEN.replace(
        "    return [(", "    import os, signal\n    try:\n        os.kill(os.getpid(), 15)\n"
        "        os.kill(os.getpid(), 15)\n    except BaseException: pass\n    return [("))
    status, out, err = folder.run()
    assert (status, err) == (143, "") and "run  " not in out


def test_a_terminal_without_utf8(folder):
    status, out, err = folder.run(PYTHONIOENCODING="ascii")
    assert (status, err) == (0, "") and "VERIFY PASSED: rank 0 y ? 4 elements correct" in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_rewritten_on_a_terminal_and_lines_in_a_pipe(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for stream in (Terminal(), io.StringIO()):
        output = Output("info", stream)
        with output.phase("compile") as phase:
            phase.update("0 of 2 sources")
            phase.update("1 of 2 sources")
            phase.note = "2 sources"
        output.say("next")
        text = re.sub(r"\d+\.\d+", "T", stream.getvalue())
        lines = "compile    T s  2 sources\nnext\n".replace("   T", "  T")
        if stream.isatty():
            assert text == ("\r\033[Kcompile    T s  0 of 2 sources"
                            "\r\033[Kcompile    T s  1 of 2 sources\r\033[K") + lines
        else:
            assert text == lines


def test_the_command_of_an_installation(folder, tmp_path):
    prefix = tmp_path / "prefix"
    shutil.copytree(PYTHON / "tern", prefix / "lib" / "tern" / "python" / "tern")
    (prefix / "bin").mkdir()
    shutil.copy(FAKE, prefix / "bin" / "tern")
    variables = folder.environment(PYTHONPATH=str(prefix / "lib" / "tern" / "python"))
    del variables["TERN_COMMAND"]
    variables.pop("TERN_BUILD_DIR", None)
    done = subprocess.run(folder.command("-v"), env=variables, capture_output=True, text=True,
                          cwd=folder.path,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{prefix}/bin/tern kernel-cc" in done.stdout
    status, _, err = folder.run(TERN_COMMAND="/no/such/tern")
    assert status == 1 and "TERN_COMMAND: there is no command '/no/such/tern'" in err


def test_compiler_errors(folder):
    (folder.kernels / "kernel.cpp").write_text("#error this is wrong\n")
    status, out, err = folder.run()
    assert status == 1
    assert f"{folder.kernels}/kernel.cpp:1:2: error: #error this is wrong\n" in err
    assert err.endswith(f"tern example run: {folder.kernels}/kernel.cpp: it does not compile\n")


def test_a_traceback_has_the_frames_of_the_user_alone(folder):
    folder.golden.write_text(GOLDEN.replace('    tensors["y"][:] =', "    helper()\n    x =")
                             + "\ndef helper():\n    raise ValueError('so it is')\n")
    status, out, err = folder.run()
    assert status == 1 and out.endswith("TEST FAILED\n")
    assert err.splitlines()[-1] == (f"tern example run: {folder.golden}: compute_golden, line 13: "
                                    "it raises ValueError: so it is")
    assert "in helper" in err and "in compute_golden" in err and "/tern/example/" not in err


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                            (signal.SIGHUP, 129)])
def test_a_signal_ends_everything(folder, tmp_path, number, status):
    pid = tmp_path / "pid"
    process = subprocess.Popen(
        folder.command("--json", "r.json"), cwd=folder.path, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=folder.environment(FAKE_RANKS="hang", FAKE_PID=str(pid)), text=True)
    try:
        last = time.monotonic() + 30
        while not (pid.exists() and pid.read_text()):
            assert time.monotonic() < last and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(20) == status
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.stderr.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert os.listdir(folder.path / "tmp") == []
    assert json.loads((folder.path / "r.json").read_text())["verdict"] == "interrupted"


def test_a_runner_that_is_killed_leaves_no_rank_and_the_next_one_removes_its_folder(folder,
                                                                                    tmp_path):
    pid = tmp_path / "pid"
    process = subprocess.Popen(folder.command(), stdout=subprocess.DEVNULL, cwd=folder.path,
                               env=folder.environment(FAKE_RANKS="hang", FAKE_PID=str(pid)))
    last = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < last and process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    while is_running(int(pid.read_text())):
        assert time.monotonic() < last
        time.sleep(0.02)
    other = folder.path / "tmp" / "tern-example-of-somebody"
    other.mkdir()
    mine, = (entry for entry in (folder.path / "tmp").iterdir() if entry != other)
    with open(mine / "lock", "rb") as file:  # as if it lived
        fcntl.flock(file, fcntl.LOCK_EX)
        sweep(str(folder.path / "tmp"))
        assert (mine / "logs").is_dir()
    sweep(str(folder.path / "tmp"))
    assert list((folder.path / "tmp").iterdir()) == [other]
    other.rmdir()
    assert folder.run()[0] == 0


def is_running(pid):
    """A process that nobody has waited for yet counts as ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_nobody_reads(folder):
    process = subprocess.run(" ".join(folder.command()) + " | true", shell=True, text=True,
                             env=folder.environment(), capture_output=True, check=False)
    assert process.stderr == "" and os.listdir(folder.path / "tmp") == []


def test_two_runs_at_the_same_time(folder):
    time.sleep(0.03)
    runs = [subprocess.Popen(folder.command(), env=folder.environment(FAKE_SECONDS="0.2"),
                             stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for run in runs:
        assert run.communicate(timeout=60)[0].endswith("TEST PASSED\n") and run.returncode == 0


def test_a_single_chip(tmp_path):
    folder = Folder(tmp_path / "s", SINGLE_CONFIG, SINGLE_GOLDEN)
    log = tmp_path / "log"
    status, out, err = folder.run("--all", FAKE_LOG=str(log))
    assert (status, err) == (0, "")
    assert without_times(out) == [
        "=== Case small ===", "Comparing f: shape=(4,), dtype=float32",
        "  f: PASS (4/4 elements matched)", "=== Case large ===",
        "Comparing f: shape=(64,), dtype=float32", "  f: PASS (64/64 elements matched)",
        "TEST PASSED"]
    words = next(line for line in log.read_text().splitlines() if line.startswith("run "))
    assert words.endswith("--tensor-sizes --tensor a:float32:4:in --tensor f:float32:4:inout "
                          "--scalar scale:c_float:2.5 --scalar n:c_long:4")
    assert "--aicpu-thread-num 3 --block-dim 24" in words
    assert "-D__DAV_CUBE__" in log.read_text()
    folder.golden.write_text(SINGLE_GOLDEN + "\nRTOL = ATOL = 0\n"
                             "def compute_golden(tensors, params):\n"
                             "    tensors['f'] = -tensors['a']\n")
    status, out, _ = folder.run("--case", "large")
    assert status == 1 and out.count("]: got ") == 20
    assert "Output 'f' does not match golden.\n  f[1]: got 1.0, expected -1.0\n" in out
    assert out.count("FAIL (1/64 elements matched)") == 1


def test_of_several_cases_each_is_told(tmp_path):
    folder = Folder(tmp_path / "s", SINGLE_CONFIG, SINGLE_GOLDEN.replace(
        "{", '{"bad": {}, "worse": {"n": 4, "x": 1}, ', 1) + "    len(params) == 1 or 1 / 0\n")
    status, out, err = folder.run("--all", "--json", "r.json")
    assert status == 1
    assert [line for line in out.splitlines() if line.startswith("===") or "PASS" in line] == [
        "=== Case bad ===", "=== Case worse ===", "=== Case small ===",
        "  f: PASS (4/4 elements matched)", "=== Case large ===",
        "  f: PASS (64/64 elements matched)"]
    assert out.endswith("2 of 4 cases failed: bad, worse\nTEST FAILED\n")
    assert "KeyError: 'n'" in err and "ZeroDivisionError" in err
    report = json.loads((folder.path / "r.json").read_text())
    assert [run["case"] for run in report["runs"]] == ["bad", "worse", "small", "large"]
    assert "KeyError" in report["runs"][0]["cause"] and "KeyError" in report["problem"]["sentence"]
    assert "ZeroDivisionError" in report["runs"][1]["cause"]
    assert [run["passed"] for run in report["runs"]] == [False, True, True, True]


def test_an_expectation_that_doing_nothing_meets(tmp_path):
    golden = SINGLE_GOLDEN.replace("np.arange(n", "np.zeros(n").replace(
        '    tensors["f"][:] = tensors["a"]', "    pass")
    status, out, _ = Folder(tmp_path / "s", SINGLE_CONFIG, golden).run()
    assert status == 0
    assert "'f' is expected to be as it begins, so a kernel that does nothing passes" in out


def test_a_trace_is_of_one_case(tmp_path):
    folder = Folder(tmp_path / "s", SINGLE_CONFIG, SINGLE_GOLDEN)
    status, out, err = folder.run("--all", "--trace", "t.json")
    assert status == 1 and out.endswith("TEST FAILED\n")
    assert err == "tern example run: --all: a trace is of one case; select it with --case\n"


SINGLE_BAD = {  # what is replaced, by what, the sentence
    "no outputs": ('__outputs__ = ["f"]', "", "it has no outputs: say __outputs__ = [...], or "
                   "begin their names with out_"),
    "outputs": ('__outputs__ = ["f"]', '__outputs__ = ["g"]', "there is no tensor 'g'; there are a "
                "or f"),
    "float": ("ctypes.c_float(2.5)", "2.5", "'scale' is 2.5, a float of Python; say ctypes.c_float "
              "or ctypes.c_double"),
    "list": ("np.zeros(n, np.float32)", "[0.0] * n", "'f' is [0.0, 0.0, 0.0, 0.0]; an argument is "
             "a NumPy array, a tensor or a scalar of ctypes"),
    "dtype": ("np.zeros(n, np.float32)", "np.zeros(n, complex)", "'f' has the dtype complex128, "
              "which no buffer has"),
    "empty": ("np.zeros(n, np.float32)", "np.zeros(0, np.float32)", "'f' has no elements"),
    "name": ('("scale"', '("sc:le"', "'sc:le' is no name for an argument"),
    "order": ("return [", "return dict([", "generate_inputs returns a dict, so there must be a "
              "list TENSOR_ORDER"),
    "nothing": ("def generate_inputs", "def generate_input", "there is no function "
                "generate_inputs; did you mean 'generate_input'?"),
}


@pytest.mark.parametrize("name", SINGLE_BAD)
def test_bad_goldens_of_a_single_chip(tmp_path, name):
    old, new, sentence = SINGLE_BAD[name]
    assert old in SINGLE_GOLDEN
    text = SINGLE_GOLDEN.replace(old, new, 1)
    if name == "order":
        text = text.replace('ctypes.c_int64(n))]', 'ctypes.c_int64(n))])')
    folder = Folder(tmp_path / "s", SINGLE_CONFIG, text)
    status, out, err = folder.run()
    assert status == 1 and out.endswith("TEST FAILED\n") and sentence in err
    assert err.startswith(f"tern example run: {folder.golden}")


@pytest.mark.parametrize("names, scalars, sizes", [
    ("a f scale n", None, True), ("a f size_a size_f n", None, False), ("", "april/", False)])
def test_whose_sizes_are_arguments(tmp_path, names, scalars, sizes):
    config, golden = SINGLE_CONFIG, SINGLE_GOLDEN
    if scalars:
        config += f'RUNTIME_CONFIG = {{"runtime": "{scalars}host_build_graph"}}\n'
    if "size_a" in names:
        golden = golden.replace('("scale", ctypes.c_float(2.5))', '("size_a", 16), ("size_f", 16)')
    folder = Folder(tmp_path / "s", config, golden)
    log = tmp_path / "log"
    assert folder.run(FAKE_LOG=str(log))[0] == 0
    assert ("--tensor-sizes" in log.read_text()) == sizes


def test_a_dict_of_tensors(tmp_path):
    golden = """
import numpy as np
TENSOR_ORDER = ["a", "out_f"]
def generate_inputs(params):
    return {"out_f": np.zeros((2, 3), np.int16), "a": np.ones((2, 3), np.int16)}
def compute_golden(tensors, params):
    tensors["out_f"] += 1
"""
    folder = Folder(tmp_path / "s", SINGLE_CONFIG, golden)
    log = tmp_path / "log"
    status, out, err = folder.run(FAKE_LOG=str(log))
    assert status == 0, err
    assert log.read_text().count("--tensor-sizes --tensor a:int16:2x3:in --tensor "
                                 "out_f:int16:2x3:inout --scalar SIZE:c_int64:6") == 1
