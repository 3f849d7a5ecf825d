#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tensor-parallel transformer layer from Python: Linear, AllReduce, SwiGLU FFN, AllReduce.

    tern run -n 2 python3 tp_ffn.py                     # each rank a process of `tern run`
    python3 tp_ffn.py --ranks 2                         # the same by tern.launch
    python3 tp_ffn.py --ranks 2 --shape 1b --save layer.safetensors
    python3 tp_ffn.py --ranks 2 --weights layer.safetensors

Each rank has a part of the weights: rows of the Linear and of `down`, columns of `gate` and `up`;
they stay where they lie in the file. Tokens are cut into chunks, and the task graph (graph_of) sums
one chunk over the ranks while the next one is multiplied. Checked against NumPy in double
precision.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, Mapping, Tuple

import numpy as np

import tern
from tern import safetensors

# tokens, hidden, intermediate: a small one, and layers of models with 1.1, 7 and 8 billion weights.
SHAPES = {"small": (64, 64, 192), "1b": (256, 2048, 5632), "7b": (256, 4096, 11008),
          "8b": (256, 4096, 14336)}
LINE = 64  # bytes; signals have one each
READY_A, DONE_A, READY_Y, DONE_Y = range(4)


class Failure(Exception):
    """What is wrong, as a sentence for people."""


def sizes(tokens: int, hidden: int, intermediate: int) -> Dict[str, Tuple[int, int]]:
    """The matrices of the layer."""
    return {"x": (tokens, hidden), "linear": (hidden, hidden), "gate": (hidden, intermediate),
            "up": (hidden, intermediate), "down": (intermediate, hidden)}


def random_weights(shape: Tuple[int, int, int], seed: int) -> Dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {name: chance.standard_normal(size, np.float32) / np.float32(size[0] ** 0.5)
            for name, size in sizes(*shape).items()}


class Source:
    """The weights of all ranks: a .safetensors file, a folder of NAME.npy, or numbers by chance."""

    def __init__(self, path: str, shape: Tuple[int, int, int], seed: int) -> None:
        self.path = path
        self.file: Mapping = {}
        try:
            if path and os.path.isdir(path):
                self.file = {name: self._npy(os.path.join(path, f"{name}.npy"))
                             for name in sizes(1, 1, 1)}
            elif path:
                self.file = safetensors.open_file(path)
            else:
                self.file = random_weights(shape, seed)
        except (OSError, safetensors.SafetensorsError) as error:
            raise Failure(str(error)) from None
        missing = [name for name in sizes(1, 1, 1) if name not in self.file]
        if missing:
            raise Failure(f"{path} has no tensor '{missing[0]}'")
        found = {name: self.file[name].shape for name in sizes(1, 1, 1)}
        if any(len(shape) != 2 for shape in found.values()):
            raise Failure(f"{path}: the tensors are matrices, and these have the shapes {found}")
        self.shape = (*found["x"], found["gate"][1])
        if found != sizes(*self.shape):
            raise Failure(f"{path}: the shapes {found} do not fit; expected {sizes(*self.shape)}")

    @staticmethod
    def _npy(path: str) -> np.ndarray:
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise Failure(f"{path}: {error}") from None

    def part(self, name: str, rows: slice = slice(None),
             columns: slice = slice(None)) -> np.ndarray:
        """A part of a matrix in f32: a view of the file when that is what it holds."""
        in_file = isinstance(self.file, safetensors.SafetensorsFile)
        word = self.file.info(name).dtype if in_file else None
        part = safetensors.to_f32(self.file[name][rows, columns], word)
        return np.require(part, requirements="A")


def build_kernels(folder: str) -> str:
    """kernels.cpp as a shared object."""
    tern_command = shutil.which("tern") or str(
        Path(tern._library.find()).resolve().parents[1] / "bin/tern")
    made = os.path.join(folder, "kernels.so")
    source = Path(__file__).resolve().parent / "kernels.cpp"
    done = subprocess.run([tern_command, "kernel-cc", "-shared", "-O3", str(source), "-o", made],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"the kernels do not compile:\n{done.stderr}")
    return made


class Layer:
    """A rank's part of the layer, its window and its graph."""

    def __init__(self, comm: tern.Comm, source: Source, chunks: int, kernels: tern.Kernels) -> None:
        self.comm, self.source, self.kernels = comm, source, kernels
        self.tokens, self.hidden, self.intermediate = source.shape
        self.chunks = min(chunks, self.tokens)
        if self.hidden % comm.size or self.intermediate % comm.size:
            raise Failure(f"{comm.size} ranks cannot share a hidden size of {self.hidden} and an "
                          f"intermediate size of {self.intermediate}: both must be multiples")
        area = -(-4 * self.chunks * LINE // 4096) * 4096  # of the signals
        matrix = self.tokens * self.hidden * 4
        self.begins = [area + i * matrix for i in range(4)]
        self.window = comm.window(area + 4 * matrix)
        shape = (self.tokens, self.hidden)
        self.partial_a, self.a, self.partial_y, self.y = (
            self.window.array(np.float32, shape, begin) for begin in self.begins)
        self._load()
        self.graph = self.graph_of()

    def _load(self) -> None:
        share, rank = self.hidden // self.comm.size, self.comm.rank
        mine = slice(rank * share, (rank + 1) * share)
        self.x = self.source.part("x", columns=mine)
        self.linear = self.source.part("linear", rows=mine)
        share = self.intermediate // self.comm.size
        mine = slice(rank * share, (rank + 1) * share)
        self.gate = self.source.part("gate", columns=mine)
        self.up = self.source.part("up", columns=mine)
        self.down = self.source.part("down", rows=mine)

    def signal(self, which: int, chunk: int) -> int:
        return (which * self.chunks + chunk) * LINE

    def _sum(self, graph: tern.Graph, after: int, chunk: int, rows: slice, stage: int) -> dict:
        """The AllReduce of a chunk; what the task behind it waits for."""
        comm, window = self.comm, self.window
        name = "ay"[stage]
        ready, done = self.signal(2 * stage, chunk), self.signal(2 * stage + 1, chunk)
        told = graph.add(self.kernels.announce, [window, comm.rank, comm.size, ready], after=after,
                         name=f"announce {name} {chunk}")
        count = (rows.stop - rows.start) * self.hidden
        first, end = (count * i // comm.size for i in (comm.rank, comm.rank + 1))
        skipped = rows.start * self.hidden * 4
        graph.add(self.kernels.reduce,
                  [window, comm.rank, comm.size, done, self.begins[2 * stage] + skipped,
                   self.begins[2 * stage + 1] + skipped, first, end - first],
                  after=told, waits=[(window, ready, comm.size)], step_per_run=comm.size,
                  name=f"reduce {name} {chunk}")
        return {"waits": [(window, done, comm.size)], "step_per_run": comm.size}

    def graph_of(self) -> tern.Graph:
        """For each chunk: linear, sum, ffn, sum. Products are on AIC cores, sums on AIV cores."""
        graph, region = tern.Graph(), tern.Region
        for chunk in range(self.chunks):
            rows = slice(*(self.tokens * i // self.chunks for i in (chunk, chunk + 1)))
            height, width = rows.stop - rows.start, self.gate.shape[1]
            gate, up = (np.empty((height, width), np.float32) for _ in range(2))
            first = graph.add(self.kernels.linear, [region(self.x[rows]), region(self.linear),
                                                    region(self.partial_a[rows])],
                              core="aic", name=f"linear {chunk}")
            summed = self._sum(graph, first, chunk, rows, 0)
            second = graph.add(self.kernels.ffn,
                               [region(self.a[rows]), region(self.gate), region(self.up),
                                region(self.down), region(self.partial_y[rows]), region(gate),
                                region(up)], core="aic", name=f"ffn {chunk}", **summed)
            summed = self._sum(graph, second, chunk, rows, 1)
            graph.add(None, after=second, name=f"complete {chunk}", **summed)
        return graph

    def verify(self) -> float:
        """The largest error of this rank's share of the tokens, over the largest element; and that
        all ranks have the same bits."""
        mine = slice(self.comm.rank, None, self.comm.size)
        wide = {name: self.source.part(name).astype(np.float64) for name in sizes(1, 1, 1)}
        a = wide["x"][mine] @ wide["linear"]
        gate, up = a @ wide["gate"], a @ wide["up"]
        y = (gate / (1 + np.exp(-gate)) * up) @ wide["down"]
        errors = np.array([np.abs(self.y[mine] - y).max(initial=0), np.abs(y).max(initial=0)])
        self.comm.all_reduce(errors, errors, "max")
        theirs = self.y.copy()
        self.comm.broadcast(theirs)
        same = np.array([np.array_equal(theirs.view(np.uint32), self.y.view(np.uint32))], np.int32)
        self.comm.all_reduce(same, same, "min")
        if not np.isfinite(self.y).all() or not errors[0] <= 1e-4 * errors[1]:
            raise Failure(f"wrong: an error of {errors[0]:g}; the largest element is {errors[1]:g}")
        if not same[0]:
            raise Failure("wrong: the ranks do not have the same bits")
        return errors[0] / errors[1]


def share_kernels(comm: tern.Comm) -> tern.Kernels:
    """Rank 0 compiles, all load."""
    name = np.zeros(512, np.uint8)
    folder = tempfile.mkdtemp(prefix="tp_ffn-") if comm.rank == 0 else None
    try:
        if folder is not None:
            path = os.fsencode(build_kernels(folder))
            name[:len(path)] = list(path)
        comm.broadcast(name)
        kernels = tern.Kernels(os.fsdecode(name.tobytes().rstrip(b"\0")))
        comm.barrier()
    finally:
        if folder is not None:
            shutil.rmtree(folder)
    return kernels


def run_rank(comm: tern.Comm, options: argparse.Namespace) -> None:
    shape = (options.tokens, options.hidden, options.intermediate)
    source = Source(options.weights, shape, options.seed)
    if options.save and comm.rank == 0:
        safetensors.save_file(options.save, {n: source.part(n) for n in sizes(1, 1, 1)})
    layer = Layer(comm, source, options.chunks, share_kernels(comm))
    times = []
    with tern.Chip(comm, aic=options.cores, aiv=options.cores) as chip:
        for _ in range(options.runs):
            comm.barrier()
            begin = time.perf_counter()
            chip.run(layer.graph)
            times.append((time.perf_counter() - begin) * 1e3)
    error = layer.verify()
    if comm.rank == 0:
        print(f"{comm.size} ranks, {layer.tokens} tokens in {layer.chunks} chunks, hidden "
              f"{layer.hidden}, intermediate {layer.intermediate}, weights "
              f"{'from ' + options.weights if options.weights else f'of seed {options.seed}'}")
        flops = 2 * layer.tokens * layer.hidden * (layer.hidden + 3 * layer.intermediate)
        median = statistics.median(times)
        print(f"layer: {median:.3f} ms, median of {options.runs} runs, {flops / median / 1e6:.1f} "
              "GFLOP/s")
        print(f"verified: largest error {error:.2e} of the largest element; the same bits on all "
              "ranks")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="a tensor-parallel layer on ranks of tern")
    parser.add_argument("--ranks", type=int, help="start that many (else: those of `tern run`)")
    parser.add_argument("--shape", choices=SHAPES, default="small", help="sizes of a model's layer")
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--hidden", type=int)
    parser.add_argument("--intermediate", type=int)
    parser.add_argument("--chunks", type=int, default=4, help="of tokens, which overlap")
    parser.add_argument("--cores", type=int, default=1, help="of each kind on each chip")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", default="", metavar="PATH",
                        help="x, linear, gate, up, down: a .safetensors file, or a folder of .npy")
    parser.add_argument("--save", metavar="FILE", help="write the weights there")
    options = parser.parse_args()
    for name, size in zip(("tokens", "hidden", "intermediate"), SHAPES[options.shape]):
        if getattr(options, name) is None:
            setattr(options, name, size)
        if getattr(options, name) < 1:
            parser.error(f"--{name} is 1 or more")
    if min(options.chunks, options.cores, options.runs) < 1:
        parser.error("--chunks, --cores and --runs are 1 or more")
    return options


def main() -> int:
    options = read_options()
    try:
        if options.ranks is not None:
            tern.launch(run_rank, options.ranks, options)
        else:
            with tern.init() as comm:
                run_rank(comm, options)
    except (Failure, tern.Error, tern.LaunchError, OSError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, Failure) else error
        print(f"tp_ffn.py: {cause}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
