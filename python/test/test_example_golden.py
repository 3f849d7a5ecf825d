# SPDX-License-Identifier: Apache-2.0
"""Goldens: inputs and expectations that are wrong, each with its sentence; and those that are
right."""

from __future__ import annotations

import numpy as np
import pytest

from example_fixtures import CONFIG, GOLDEN, SINGLE_GOLDEN, Folder
from tern.example.config import load_config
from tern.example.golden import Golden, cases_of, expected_outputs, inputs_of_rank
from tern.example.problem import Problem

INPUT = '("x", [float(i) for i in range(4)])'
OUTPUT = '    tensors["y"][:] = [float(i) for i in range(4)]'

# name: (what is replaced, by what, the place behind the file, the sentence)
BAD_INPUTS = {
    "unknown": (INPUT, '("z", [1.0] * 4)', "generate_distributed_inputs, rank 1",
                "there is no buffer 'z'; there are x or y"),
    "missing": (INPUT, '("y", [1.0] * 4)', "generate_distributed_inputs, rank 1",
                "the input 'x' is missing"),
    "twice": (INPUT, f"{INPUT}, {INPUT}", "generate_distributed_inputs, rank 1",
              "'x' is there twice"),
    "short": ("range(4)])", "range(3)])", "generate_distributed_inputs, rank 1",
              "'x' has 3 elements; the buffer has 4"),
    "number": (INPUT, '("x", 1.0)', "generate_distributed_inputs, rank 1",
               "'x' is 1.0; the buffer has 4 elements"),
    "text": (INPUT, '("x", "1234")', "generate_distributed_inputs, rank 1, 'x'",
             "'1234' is no list of numbers"),
    "too large": (INPUT, '("x", [0, 1, 1e39, 0])', "generate_distributed_inputs, rank 1, 'x'",
                  "element 2 is 1e+39, which float32 cannot hold"),
    "no pair": (INPUT, '"x"', "generate_distributed_inputs, rank 1",
                "item 0 is 'x'; it must be (name, values)"),
    "none": ("    return [(", "    return\n    [(", "generate_distributed_inputs, rank 1",
             "it returns None; it must be a list of (name, values)"),
    "raises": ("    return [(", "    return rank / 0\n    [(",
               "generate_distributed_inputs, line 6",
               "it raises ZeroDivisionError: division by zero"),
    "arguments": ("(rank, nranks, root, comm_ctx=None)", "(rank)",
                  "generate_distributed_inputs", "it raises TypeError: "
                  "generate_distributed_inputs() takes 1 positional argument but 3 were given"),
}
BAD_EXPECTED = {
    "raises": (OUTPUT, '    tensors["x"]', "compute_golden, line 9", "it raises KeyError: 'x'"),
    "raises an exit": (OUTPUT, "    raise GeneratorExit", "compute_golden, line 9",
                       "it raises GeneratorExit"),
    "interrupts": (OUTPUT, "    raise KeyboardInterrupt('x')", "compute_golden, line 9",
                   "it raises KeyboardInterrupt: x"),
    "raises what has no text": (OUTPUT, "    class E(Exception):\n        __str__ = None\n"
                                "    raise E", "compute_golden, line 11", "it raises E"),
    "masked": (OUTPUT, "    tensors['y'] = np.ma.masked_array(np.ones(4), [1, 1, 1, 1])",
               "compute_golden, 'y'", "it has masked elements, which are no numbers"),
    "exits": (OUTPUT, "    raise SystemExit(0)", "compute_golden, line 9",
              "it calls sys.exit(0)"),
    "hangs": (OUTPUT, "    while True: pass", "compute_golden, line 9",
              "it has not returned after 0.5 s"),
    "hangs on": (OUTPUT, "    try:\n        while True:\n            len(tensors)\n"
                 "    except BaseException: pass\n    while True:\n        len(tensors)",
                 "compute_golden",
                 "it has not returned after 0.5 s"),
    "shrinks": (OUTPUT, '    tensors["y"].pop()', "compute_golden",
                "it leaves 'y' with 3 elements; there must be 4"),
    "removes": (OUTPUT, '    del tensors["y"]', "compute_golden", "it has removed the output 'y'"),
    "number": (OUTPUT, '    tensors["y"] = 3', "compute_golden",
               "it leaves 'y' as 3; there must be 4 elements"),
    "texts": (OUTPUT, '    tensors["y"] = ["a"] * 4', "compute_golden, 'y'",
              "element 0 is 'a', which is no number"),
    "too large": (OUTPUT, '    tensors["y"] = np.full(4, 1e300)', "compute_golden, 'y'",
                  "element 0 is 1e+300, which float32 cannot hold"),
    "loses a function": ("def compute_golden", "def compute_gold", None,
                         "there is no function compute_golden; did you mean 'compute_gold'?"),
}
BAD_MODULES = {
    "RTOL": ("RTOL = 0", "RTOL = '0'", "RTOL", "it is '0'; it must be a number"),
    "RTOL nan": ("RTOL = 0", "RTOL = float('nan')", "RTOL", "it is nan; it must be 0 or more"),
    "ATOL": ("ATOL = 0", "ATOL = -1", "ATOL", "it is -1.0; it must be 0 or more"),
}


def opened(tmp_path, old="", new="", golden=GOLDEN):
    assert old in golden
    folder = Folder(tmp_path / "f", CONFIG, "import numpy as np" + golden.replace(old, new, 1))
    config = load_config(folder.kernels, None, None).distributed
    return folder, config


def check(caught, folder, place, sentence):
    assert caught.value.sentence == sentence
    assert caught.value.place == f"{folder.golden}{': ' + place if place else ''}"


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_inputs(tmp_path, name):
    old, new, place, sentence = BAD_INPUTS[name]
    folder, config = opened(tmp_path, old, new)
    golden = Golden(folder.golden, None)
    with pytest.raises(Problem) as caught:
        inputs_of_rank(golden, config, 1)
    check(caught, folder, place, sentence)


@pytest.mark.parametrize("name", BAD_EXPECTED)
def test_bad_expectations(tmp_path, name):
    old, new, place, sentence = BAD_EXPECTED[name]
    folder, config = opened(tmp_path, old, new)
    golden = Golden(folder.golden, 0.5 if "hangs" in name else None)
    with pytest.raises(Problem) as caught:
        expected_outputs(golden, config, lambda rank, output: [0.0] * 4)
    assert "tern/example" not in caught.value.details
    if name == "hangs on":  # in which line of the second loop is chance
        caught.value.place, line = caught.value.place.rsplit(", line ", 1)
        assert line in ("13", "14")
    check(caught, folder, place, sentence)
    if name == "raises":
        assert 'tensors["x"]' in caught.value.details
        assert "line 9, in compute_golden" in caught.value.details


@pytest.mark.parametrize("name", BAD_MODULES)
def test_bad_modules(tmp_path, name):
    old, new, place, sentence = BAD_MODULES[name]
    folder, _ = opened(tmp_path, old, new)
    with pytest.raises(Problem) as caught:
        Golden(folder.golden, None)
    check(caught, folder, place, sentence)


def test_inputs_of_many_forms(tmp_path):
    folder, config = opened(tmp_path, INPUT, '("x", np.arange(4)), ("y", [9.0])')
    made = inputs_of_rank(Golden(folder.golden, None), config, 0)
    assert list(made) == ["x"]
    assert np.frombuffer(made["x"], np.float32).tolist() == [0, 1, 2, 3]


def test_data_prefix(tmp_path):
    config = CONFIG.replace('"count": 4', '"count": 6, "data_prefix_elems": 4')
    folder = Folder(tmp_path / "f", config, GOLDEN)
    table = load_config(folder.kernels, None, None).distributed
    made = inputs_of_rank(Golden(folder.golden, None), table, 0)
    assert np.frombuffer(made["x"], np.float32).tolist() == [0, 1, 2, 3, 0, 0]


def test_expectations_are_computed_once_from_what_the_root_saved(tmp_path):
    folder, config = opened(tmp_path, OUTPUT,
                            "    calls.append((params['nranks'], params['root']))\n"
                            '    tensors["y"][:] = [one + 6 for one in tensors["y"]]',
                            GOLDEN + "\ncalls = []\n")
    golden = Golden(folder.golden, None)
    expected = expected_outputs(golden, config, lambda rank, name: [rank + 1.0] * 4)
    assert [expected(rank)["y"].tolist() for rank in (0, 1)] == [[7] * 4] * 2
    assert golden.attribute("calls") == [(2, 0)]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("body, sentence", [
    ("pass", "it fills nothing of 'y', which would be compared with itself"),
    ("y = tensors['y']; y = [3] * 4",
     "it fills nothing of 'y', which would be compared with itself"),
    ("for i in range(3): tensors['y'][i] = 3",
     "it fills 3 of the 4 elements of 'y'; the others would be compared with themselves "
     "(data_prefix_elems says how many matter)"),
    ("tensors['y'][:] = [3] * 4", None),
    ("tensors['y'] = np.array(tensors['y'])", None),
    ("if params['rank'] == 0: tensors['y'][:] = [3] * 4",
     "it fills nothing of 'y', which would be compared with itself"),
])
def test_what_a_golden_does_not_fill(tmp_path, dtype, body, sentence):
    folder = Folder(tmp_path / "f", CONFIG.replace("float32", dtype),
                    "import numpy as np" + GOLDEN.replace(OUTPUT, f"    {body}"))
    config = load_config(folder.kernels, None, None).distributed
    saved = [3.0 if dtype == "float32" else 3] * 4
    expected = expected_outputs(Golden(folder.golden, None), config, lambda rank, name: saved)
    if sentence is None:
        assert expected(1)["y"].tolist() == [3] * 4
        return
    with pytest.raises(Problem) as caught:
        expected(1)
    check(caught, folder, "compute_golden", sentence)


def test_a_golden_need_not_fill_what_is_not_verified(tmp_path):
    config = CONFIG.replace('"args"', '"verify": [0], "args"')
    golden = GOLDEN.replace(OUTPUT, f"    if params['rank'] == 0:\n    {OUTPUT}")
    folder = Folder(tmp_path / "f", config, golden)
    table = load_config(folder.kernels, None, None).distributed
    expected = expected_outputs(Golden(folder.golden, None), table, lambda rank, name: [0.0] * 4)
    assert [expected(rank)["y"].tolist() for rank in (0, 1)] == [[0, 1, 2, 3], [0] * 4]


@pytest.mark.parametrize("asks", ['params["rank"]', 'params.get("rank", 0)',
                                  'dict(**params)["rank"]', 'dict(params)["rank"]',
                                  'params.copy()["rank"]', "list(params.values())[2]",
                                  'params.pop("rank")', 'params.setdefault("rank", 0)',
                                  "int(str(params).split()[-1][:-1])"])
def test_a_golden_that_looks_at_the_rank_is_asked_for_each(tmp_path, asks):
    folder, config = opened(tmp_path, OUTPUT, f'    tensors["y"] = [{asks} * 10.0] * 4')
    expected = expected_outputs(Golden(folder.golden, None), config, lambda rank, name: None)
    assert [expected(rank)["y"].tolist() for rank in (0, 1)] == [[0] * 4, [10] * 4]


def test_it_may_print_and_import_what_is_beside_it(tmp_path, capsys):
    folder, config = opened(tmp_path, OUTPUT,
                            '    import helper\n    print("hello")\n    tensors["y"] = helper.Y')
    (folder.golden.parent / "helper.py").write_text("Y = (1, 2, 3, 4)\n")
    expected = expected_outputs(Golden(folder.golden, None), config, lambda rank, name: None)
    assert expected(1)["y"].tolist() == [1, 2, 3, 4]
    assert capsys.readouterr().out == "hello\n"
    assert not (folder.golden.parent / "__pycache__").exists()


CASES = {  # the module's text, --case, --all: the cases, or the sentence
    "default": ("", None, False, ["small"]),
    "one": ("", "large", False, ["large"]),
    "all": ("", None, True, ["small", "large"]),
    "unknown": ("", "larger", False, "there is no case 'larger'; did you mean 'large'?"),
    "bad default": ('DEFAULT_CASE = "x"', None, False,
                    "there is no case 'x'; there are small or large"),
    "no default": ("DEFAULT_CASE = None", None, False,
                   "there is no DEFAULT_CASE; select with --case: small or large"),
    "none": ("ALL_CASES = None", None, False, [None]),
    "none to select": ("ALL_CASES = None", "small", False,
                       "there is no ALL_CASES, so there is no case to select"),
    "no dict": ("ALL_CASES = ['small']", None, False,
                "it is ['small']; it must be a dict from names to params"),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(tmp_path, name):
    text, case, run_all, wanted = CASES[name]
    folder = Folder(tmp_path / "f", CONFIG, f"{SINGLE_GOLDEN}\n{text}\n")
    golden = Golden(folder.golden, None)
    if isinstance(wanted, list):
        assert [found for found, _ in cases_of(golden, case, run_all)] == wanted
        return
    with pytest.raises(Problem) as caught:
        cases_of(golden, case, run_all)
    assert caught.value.sentence == wanted
