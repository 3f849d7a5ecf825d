# SPDX-License-Identifier: Apache-2.0
"""Configs that are wrong: each has one sentence with its cause and its place."""

from __future__ import annotations

import os

import pytest

from example_fixtures import CONFIG, SINGLE_CONFIG, Folder
from tern.example.config import load_config
from tern.example.problem import Problem

D = "DISTRIBUTED_CONFIG"
# name: (what is replaced, by what, the place behind the file, the sentence)
BAD = {
    "dtype": ('"dtype": "float32", "count": 4, "placement": "window"',
              '"dtype": "float23", "count": 4, "placement": "window"',
              f'{D}["buffers"][0]["dtype"]',
              "there is no dtype 'float23'; did you mean 'float32'?"),
    "dtype no text": ('"dtype": "float32"', '"dtype": 4', f'{D}["buffers"][0]["dtype"]',
                      "there is no dtype 4; there are float16, bfloat16, float32, float64, int8, "
                      "int16, int32, int64, uint8, uint16, uint32 or uint64"),
    "token": ('"nranks", "root", "deviceCtx"]', '"nranks", "root", "device_ctx"]',
              f'{D}["args"][4]', "'device_ctx' is no buffer and none of the tokens nranks, root or "
              "deviceCtx; did you mean 'deviceCtx'?"),
    "token of no kind": ('"args": ["x"', '"args": [17', f'{D}["args"][0]',
                         "17 is no buffer and none of the tokens nranks, root or deviceCtx"),
    "buffer twice": ('"name": "y"', '"name": "x"', f'{D}["buffers"][1]["name"]',
                     "there is a buffer 'x' before"),
    "buffer as token": ('"name": "y"', '"name": "root"', f'{D}["buffers"][1]["name"]',
                        "'root' is a token of args and no name for a buffer"),
    "buffer as path": ('"name": "y"', '"name": "../y"', f'{D}["buffers"][1]["name"]',
                       "it is '../y'; a name has letters, digits and _, at most 63 bytes"),
    "count 0": ('"count": 4, "placement": "window"', '"count": 0, "placement": "window"',
                f'{D}["buffers"][0]["count"]', "it is 0; it must be 1 to 4294967295"),
    "many buffers": ('"inputs": ["x"]', '"inputs": ["x"], "buffers": [{"name": f"b{i}", "dtype": '
                     '"int8", "count": 1, "placement": "window"} for i in range(193)]',
                     f'{D}["buffers"]', "there are 193; a rank has at most 192"),
    "count no number": ('"count": 4, "placement": "window"', '"count": "4", "placement": "window"',
                        f'{D}["buffers"][0]["count"]', "it is '4'; it must be a whole number"),
    "count bool": ('"count": 4, "placement": "window"', '"count": True, "placement": "window"',
                   f'{D}["buffers"][0]["count"]', "it is True; it must be a whole number"),
    "count raises": ('"count": 4, "placement": "window"',
                     '"count": lambda n: n // 0, "placement": "window"',
                     f'{D}["buffers"][0]["count"], line 11',
                     "it raises ZeroDivisionError: integer division or modulo by zero"),
    "placement": ('"placement": "device"', '"placement": "windows"',
                  f'{D}["buffers"][1]["placement"]',
                  "it is 'windows'; it must be window or device; did you mean 'window'?"),
    "no placement": (', "placement": "device"', "", f'{D}["buffers"][1]["placement"]', None),
    "data prefix": ('"placement": "device"', '"placement": "device", "data_prefix_elems": 5',
                    f'{D}["buffers"][1]["data_prefix_elems"]', "it is 5; it must be 1 to 4"),
    "nobody writes": ('"args": ["x", "y",', '"args": ["x",', f'{D}["outputs"][0]',
                      "nobody writes 'y': it is not among the args"),
    "input unknown": ('"inputs": ["x"]', '"inputs": ["z"]', f'{D}["inputs"][0]',
                      "there is no buffer 'z'; there are x or y"),
    "output unknown": ('"outputs": ["y"]', '"outputs": ["yy"]', f'{D}["outputs"][0]',
                       "there is no buffer 'yy'; did you mean 'y'?"),
    "output twice": ('"outputs": ["y"]', '"outputs": ["y", "y"]', f'{D}["outputs"][1]',
                     "'y' is named twice"),
    "outputs no list": ('"outputs": ["y"]', '"outputs": "y"', f'{D}["outputs"]',
                        "it is 'y'; it must be a list"),
    "root": ('"root": 0', '"root": 2', f'{D}["root"]', "it is 2; of 2 ranks it must be 0 to 1"),
    "root below": ('"root": 0', '"root": -1', f'{D}["root"]', "it is -1; it must be at least 0"),
    "nranks": ('"nranks": 2,', '"nranks": 65,', f'{D}["nranks"]', "it is 65; it must be 1 to 64"),
    "nranks 0": ('"nranks": 2,', '"nranks": 0,', f'{D}["nranks"]', "it is 0; it must be 1 to 64"),
    "prefix": ('"win_sync_prefix": 256', '"win_sync_prefix": -8', f'{D}["win_sync_prefix"]',
               "it is -8; it must be 0 to 1073741824"),
    "includes": ('"root": 0,', '"root": 0, "comm_include_dirs": "a",', f'{D}["comm_include_dirs"]',
                 "it is 'a'; it must be a list"),
    "field": ('"win_sync_prefix": 256', '"win_sync_prefx": 256', D,
              "there is no field 'win_sync_prefx'; did you mean 'win_sync_prefix'?"),
    "field of a buffer": ('"placement": "device"', '"placement": "device", "alignment": 64',
                          f'{D}["buffers"][1]', "there is no field 'alignment'; there are name, "
                          "dtype, count, placement or data_prefix_elems"),
    "verify": ('"root": 0,', '"root": 0, "verify": "none",', f'{D}["verify"]',
               "it is 'none'; it must be 'all', 'root' or a list of ranks"),
    "verify nobody": ('"root": 0,', '"root": 0, "verify": [],', f'{D}["verify"]',
                      "it names no rank, so nothing would be verified"),
    "verify rank": ('"root": 0,', '"root": 0, "verify": [0, 2],', f'{D}["verify"]',
                    "it is 2; it must be 0 to 1"),
    "verify output": ('"root": 0,', '"root": 0, "verify": {"z": "all"},', f'{D}["verify"]',
                      "there is no output 'z'; there are y"),
    "no dict": ("DISTRIBUTED_CONFIG = {", "DISTRIBUTED_CONFIG = 3\nunused = {", D,
                "it is 3; it must be a dict"),
    "misspelt table": ("DISTRIBUTED_CONFIG =", "DISTRIBUTED_CONFG =", "DISTRIBUTED_CONFG",
                       "there is no table 'DISTRIBUTED_CONFG'; did you mean 'DISTRIBUTED_CONFIG'?"),
    "host orchestration": ("RUNTIME_ENV =", "DISTRIBUTED_HOST_ORCH = {}\nRUNTIME_ENV =",
                           "DISTRIBUTED_HOST_ORCH", "orchestrations of a host over several chips "
                           "are not supported; DISTRIBUTED_CONFIG runs one orchestration on each "
                           "chip"),
    "no orchestration": ("ORCHESTRATION =", "SOMETHING =", None,
                         "the table ORCHESTRATION is missing"),
    "no file": ('"orch.cpp"', '"orhc.cpp"', 'ORCHESTRATION["source"]',
                "there is no such file: {kernels}/orhc.cpp"),
    "a folder": ('"orch.cpp"', '"."', 'ORCHESTRATION["source"]', "it is a folder: {kernels}"),
    "no source": ('"source": "kernel.cpp", ', "", "KERNELS[0]", "the field 'source' is missing"),
    "function": ('"build_graph"', '"build graph"', 'ORCHESTRATION["function_name"]',
                 "it is 'build graph', which is no name of a function"),
    "kernel twice": ('"core_type": "aiv"}]', '"core_type": "aiv"}] * 2', 'KERNELS[1]["func_id"]',
                     "there is a kernel with the func_id 0 before"),
    "func_id": ('"func_id": 0', '"func_id": 1024', 'KERNELS[0]["func_id"]',
                "it is 1024; it must be 0 to 1023"),
    "core_type": ('"aiv"', '"avi"', 'KERNELS[0]["core_type"]',
                  "it is 'avi'; it must be aic or aiv; did you mean 'aiv'?"),
    "no kernels": ('[{"func_id": 0, "source": "kernel.cpp", "core_type": "aiv"}]', "[]", "KERNELS",
                   "there is no kernel in it"),
    "runtime": ('"host_build_graph"', '"host_built_graph"', 'RUNTIME_CONFIG["runtime"]',
                "there is no runtime 'host_built_graph': host_build_graph, aicpu_build_graph or "
                "tensormap_and_ringbuffer, or one of them behind april/, or the first or last "
                "behind august/; did you mean 'host_build_graph'?"),
    "block_dim": ('"block_dim": 1', '"block_dim": 86', 'RUNTIME_CONFIG["block_dim"]',
                  "it is 86; it must be 1 to 85"),
    "rounds": ('"block_dim": 1', '"block_dim": 1, "rounds": 0', 'RUNTIME_CONFIG["rounds"]',
               "it is 0; it must be 1 to 1000000"),
    "environment": ("RUNTIME_ENV = {}", 'RUNTIME_ENV = {"A": [1]}', 'RUNTIME_ENV["A"]',
                    "it is [1]; it must be a text or a number"),
    "environment's name": ("RUNTIME_ENV = {}", 'RUNTIME_ENV = {"A=B": 1}', "RUNTIME_ENV",
                           "'A=B' is no name of a variable"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_config(tmp_path, name):
    old, new, place, sentence = BAD[name]
    assert old in CONFIG
    folder = Folder(tmp_path / "f", CONFIG.replace(old, new, 1))
    with pytest.raises(Problem) as caught:
        load_config(folder.kernels, None, None)
    file = folder.kernels / "kernel_config.py"
    if name == "no placement":
        place, sentence = f'{D}["buffers"][1]', "the field 'placement' is missing"
    assert caught.value.place == (f"{file}: {place}" if place else str(file))
    assert caught.value.sentence == sentence.format(kernels=folder.kernels)


CODE = {  # what the file is, the line, the sentence
    "raises": ("import os\n\nos.environ['NOT_THERE_AT_ALL']\n", 3,
               "it raises KeyError: 'NOT_THERE_AT_ALL'"),
    "exits": ("import sys\nsys.exit(3)\n", 2, "it calls sys.exit(3)"),
    "syntax": ("KERNELS = [\n\nORCHESTRATION = {\n", 1, "it is not Python: '[' was never closed"),
    "import": ("import not_there_at_all\n", 1,
               "it raises ModuleNotFoundError: No module named 'not_there_at_all'"),
    "hangs": ("while True:\n    pass\n", 2, "it has not returned after 0.5 s"),
}


@pytest.mark.parametrize("name", CODE)
def test_code_of_the_users(tmp_path, name):
    text, line, sentence = CODE[name]
    folder = Folder(tmp_path / "f", text)
    with pytest.raises(Problem) as caught:
        load_config(folder.kernels, None, 0.5 if name == "hangs" else None)
    place, _, number = str(caught.value.place).rpartition(", line ")
    assert place == str(folder.kernels / "kernel_config.py")
    if name == "syntax":  # Python before 3.10 counts and says it in another way
        assert caught.value.sentence.startswith("it is not Python: ")
        return
    assert caught.value.sentence == sentence
    assert int(number) == line or name == "hangs"
    assert "run_user_code" not in caught.value.details
    assert "usercode.py" not in caught.value.details


def test_missing_folder_and_file(tmp_path):
    with pytest.raises(Problem, match="there is no such folder"):
        load_config(tmp_path / "none", None, None)
    with pytest.raises(Problem, match="there is no kernel_config.py in this folder"):
        load_config(tmp_path, None, None)


def test_everything_that_may_be_said(tmp_path, monkeypatch):
    monkeypatch.setenv("SIZE", "6")
    folder = Folder(tmp_path / "f", CONFIG.replace('"count": 4', '"count": sizes.COUNT').replace(
        "ORCHESTRATION =", "import sizes\nORCHESTRATION =").replace(
        "RUNTIME_ENV = {}", 'RUNTIME_ENV = {"PTO2_RING_HEAP": 4096, "TABLE_DIR": "../t", '
        '"ONE_PATH": "/abs/x", "SCALE": 0.5}').replace(
        '"root": 0,', '"root": 1, "verify": {"y": "root"}, "comm_include_dirs": ["a/b", "/c"],'))
    (folder.kernels / "sizes.py").write_text("import os\nCOUNT = int(os.environ['SIZE'])\n")
    config = load_config(folder.kernels, None, None)
    table = config.distributed
    assert [buffer.count for buffer in table.buffers] == [6, 6]
    assert table.verify == {"y": (1,)}
    assert table.include_dirs == ("a/b", "/c")
    assert config.environment == {"PTO2_RING_HEAP": "4096", "TABLE_DIR": str(tmp_path / "f" / "t"),
                                  "ONE_PATH": "/abs/x", "SCALE": "0.5"}
    assert config.kernels[0].name == "kernel"
    assert not (folder.kernels / "__pycache__").exists()
    import sys
    assert str(folder.kernels) not in sys.path and "sizes" not in sys.modules


def test_nranks_of_the_command_line(tmp_path):
    folder = Folder(tmp_path / "f", CONFIG.replace('"count": 4', '"count": lambda n: 16 * n'))
    config = load_config(folder.kernels, 7, None)
    assert config.distributed.nranks == 7
    assert config.distributed.buffer("x").count == 112
    assert config.distributed.verify == {"y": tuple(range(7))}
    single = Folder(tmp_path / "s", SINGLE_CONFIG)
    assert load_config(single.kernels, 1, None).runtime.block_dim == 24
    with pytest.raises(Problem, match="no DISTRIBUTED_CONFIG, so it runs on 1 rank and not on 2"):
        load_config(single.kernels, 2, None)


def test_a_config_that_changed_within_a_second_is_read_again(tmp_path):
    folder = Folder(tmp_path / "f")
    file = folder.kernels / "kernel_config.py"
    about = os.stat(file)
    assert load_config(folder.kernels, None, None).distributed.nranks == 2
    file.write_text(CONFIG.replace('"nranks": 2', '"nranks": 3'))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert load_config(folder.kernels, None, None).distributed.nranks == 3
