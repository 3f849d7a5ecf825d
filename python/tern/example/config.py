# SPDX-License-Identifier: Apache-2.0
"""kernel_config.py as checked data: what is compiled, which runtime runs it, on which buffers.

Every field is honoured or refused with a sentence that names the file and the field; which of them
have no effect is said in docs/example-runner.md. Nothing after this looks at the user's
dictionaries.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Dict, List, Optional, Tuple

from .buffers import Distributed, read_distributed
from .fields import Fields, nearest_only, whole
from .problem import Problem, listed, shown
from .usercode import load_module

NAME = "kernel_config.py"
_MARCH = ("host_build_graph", "aicpu_build_graph", "tensormap_and_ringbuffer")
RUNTIMES = _MARCH + tuple(f"april/{name}" for name in _MARCH) + (
    f"august/{_MARCH[0]}", f"august/{_MARCH[-1]}")
_TABLES = ("ORCHESTRATION", "KERNELS", "RUNTIME_CONFIG", "RUNTIME_ENV", "DISTRIBUTED_CONFIG")
MOST_FUNC_ID = 1023
MOST_CLUSTERS = 85
MOST_ROUNDS = 1_000_000


@dataclass(frozen=True)
class Orchestration:
    source: Path
    function_name: str
    config_name: Optional[str]  # a function that says how many arguments there must be
    place: str  # for sentences about it


@dataclass(frozen=True)
class Kernel:
    func_id: int
    source: Path
    core_type: str  # "aic" or "aiv"
    name: str  # in traces and sentences
    place: str


@dataclass(frozen=True)
class RuntimeConfig:
    runtime: str  # one of RUNTIMES
    aicpu_thread_num: int
    block_dim: int  # clusters: an AIC and two AIV each
    orch_thread_num: int
    rounds: int


@dataclass(frozen=True)
class Config:
    folder: Path
    file: Path
    orchestration: Orchestration
    kernels: Tuple[Kernel, ...]
    runtime: RuntimeConfig
    environment: Dict[str, str]  # of the ranks
    distributed: Optional[Distributed]


def load_config(folder: Path, nranks: Optional[int], seconds: Optional[float]) -> Config:
    """Reads FOLDER/kernel_config.py; `nranks` of the command line goes before that of the
    config."""
    if not folder.is_dir():
        raise Problem("there is no such folder", str(folder))
    file = folder / NAME
    if not file.is_file():
        raise Problem(f"there is no {NAME} in this folder", str(folder))
    module = load_module(file, "kernel_config", seconds)
    if hasattr(module, "DISTRIBUTED_HOST_ORCH"):
        raise Problem("orchestrations of a host over several chips are not supported; "
                      "DISTRIBUTED_CONFIG runs one orchestration on each chip",
                      f"{file}: DISTRIBUTED_HOST_ORCH")
    _check_tables(module, file)
    is_distributed = hasattr(module, "DISTRIBUTED_CONFIG")
    distributed = None
    if is_distributed:
        distributed = read_distributed(module.DISTRIBUTED_CONFIG, f"{file}: DISTRIBUTED_CONFIG",
                                       folder, nranks)
    elif nranks is not None and nranks != 1:
        raise Problem(f"it has no DISTRIBUTED_CONFIG, so it runs on 1 rank and not on {nranks}",
                      str(file))
    return Config(folder, file, _read_orchestration(module, file, folder),
                  _read_kernels(module, file, folder), _read_runtime(module, file, is_distributed),
                  _read_environment(module, file, folder), distributed)


def _check_tables(module: ModuleType, file: Path) -> None:
    """A table whose name is misspelt would be missed in silence."""
    for name in vars(module):
        if name in _TABLES or not name.isupper():
            continue
        meant = difflib.get_close_matches(name, _TABLES, 1, 0.85)
        if meant and not hasattr(module, meant[0]):
            raise Problem(f"there is no table '{name}'; did you mean '{meant[0]}'?",
                          f"{file}: {name}")
    for name in ("ORCHESTRATION", "KERNELS"):
        if not hasattr(module, name):
            raise Problem(f"the table {name} is missing", str(file))


def _source(fields: Fields, folder: Path) -> Path:
    path = Path(os.path.normpath(folder / fields.text("source")))
    if not os.path.isfile(path):
        what = "it is a folder" if os.path.isdir(path) else "there is no such file"
        raise Problem(f"{what}: {path}", fields.at("source"))
    return path


def _identifier(fields: Fields, name: str) -> str:
    text = fields.text(name)
    if not text.isidentifier() or not text.isascii():
        raise Problem(f"it is {shown(text)}, which is no name of a function", fields.at(name))
    return text


def _read_orchestration(module: ModuleType, file: Path, folder: Path) -> Orchestration:
    fields = Fields(module.ORCHESTRATION, f"{file}: ORCHESTRATION",
                    ("source", "function_name", "config_name", "name", "signature", "dtypes"))
    config_name = _identifier(fields, "config_name") if fields.has("config_name") else None
    return Orchestration(_source(fields, folder), _identifier(fields, "function_name"), config_name,
                         fields.place)


def _read_kernels(module: ModuleType, file: Path, folder: Path) -> Tuple[Kernel, ...]:
    if not isinstance(module.KERNELS, (list, tuple)):
        raise Problem(f"it is {shown(module.KERNELS)}; it must be a list", f"{file}: KERNELS")
    kernels: List[Kernel] = []
    for index, value in enumerate(module.KERNELS):
        fields = Fields(value, f"{file}: KERNELS[{index}]",
                        ("func_id", "source", "core_type", "name", "signature"))
        func_id = fields.integer("func_id", fields.raw("func_id"), 0, MOST_FUNC_ID)
        if func_id in [kernel.func_id for kernel in kernels]:
            raise Problem(f"there is a kernel with the func_id {func_id} before",
                          fields.at("func_id"))
        source = _source(fields, folder)
        kernels.append(Kernel(func_id, source, fields.word("core_type", ("aic", "aiv")),
                              fields.text("name", source.stem), fields.place))
    if not kernels:
        raise Problem("there is no kernel in it", f"{file}: KERNELS")
    return tuple(kernels)


def _read_runtime(module: ModuleType, file: Path, distributed: bool) -> RuntimeConfig:
    fields = Fields(getattr(module, "RUNTIME_CONFIG", {}), f"{file}: RUNTIME_CONFIG",
                    ("runtime", "aicpu_thread_num", "block_dim", "orch_thread_num", "rounds"))
    runtime = fields.raw("runtime", RUNTIMES[0])
    if not isinstance(runtime, str) or runtime not in RUNTIMES:
        raise Problem(f"there is no runtime {shown(runtime)}: {listed(_MARCH)}, or one of them "
                      f"behind april/, or the first or last behind august/{nearest_only(runtime, RUNTIMES)}", fields.at("runtime"))
    return RuntimeConfig(
        str(runtime),
        fields.integer("aicpu_thread_num", 1 if distributed else 3, 1, 64),
        fields.integer("block_dim", 1 if distributed else 24, 1, MOST_CLUSTERS),
        fields.integer("orch_thread_num", 0 if distributed else 1, 0, 64),
        fields.integer("rounds", 1, 1, MOST_ROUNDS))


def _read_environment(module: ModuleType, file: Path, folder: Path) -> Dict[str, str]:
    place = f"{file}: RUNTIME_ENV"
    table = getattr(module, "RUNTIME_ENV", {})
    if not isinstance(table, dict):
        raise Problem(f"it is {shown(table)}; it must be a dict", place)
    environment = {}
    for name, value in table.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise Problem(f"{shown(name)} is no name of a variable", place)
        where = f'{place}["{name}"]'
        if isinstance(value, bool) or not (
                isinstance(value, (str, int, float)) or hasattr(value, "__fspath__")):
            raise Problem(f"it is {shown(value)}; it must be a text or a number", where)
        text = str(value)
        if "\0" in text:
            raise Problem("it has a NUL in it", where)
        if name.endswith(("_DIR", "_PATH")) and text:
            text = os.path.normpath(folder / text)
        environment[name] = text
    return environment


def with_rounds(config: Config, rounds: Optional[int]) -> int:
    """How often the graph runs: as the command line says, else as the config does."""
    return config.runtime.rounds if rounds is None else whole(rounds, "--rounds", 1, MOST_ROUNDS)
