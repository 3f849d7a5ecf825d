# SPDX-License-Identifier: Apache-2.0
"""Task graphs beside GNU OpenMP and StarPU: runs tern's programs and the peers', in turn.

Used by bench/run.py. The graphs are those of bench/graphs.h, the same for all; every program prints
nanoseconds a task. bench/tasks.c has graphs that are built on the host, bench/orchestrate.c those
that are built on the chip.
"""

import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from cells import markdown, ratio, spread

BENCH = os.path.dirname(os.path.abspath(__file__))
BUSY = 2  # processes, in the runs beside busy ones

SHAPES = {"independent": "independent tasks", "fan_in": "64x64 fan-in",
          "random": "random DAG of 2 inputs", "chain": "chain"}
BUSY_SHAPES = ("independent", "random")

# tasks, repeats in a process; the quick ones first
COUNTS = ((1290, 1), (16512, 9))
WAIT_ROUNDS = (20, 500)
TRACED_TASKS = (1000, 20000)
SUBMITTED_TASKS = (1000, 16000)
SCALE_TASKS = (10000, 10000000)
LAYERS = ((128, 256), (256, 512), (512, 2048))  # hidden, intermediate of examples/tp_ffn
LAYER_TOKENS = (128, 8192)
LAYER_TURNS = (1, 3)  # in a round: it takes tens of milliseconds, and varies from process to process

# The builders: program and its argument, title.
BUILDERS = {"host": ("bench_tasks", "built on the host"),
            "chip": ("bench_orchestrate", "built on the chip"),
            "rings": ("bench_orchestrate", "from regions")}
# What else is measured of the first: the end of the names printed, title.
OF_HOST = (("build", "building it on the host"), ("once", "built on the host and run, once"))

# name, compiler, its arguments, where pkg-config looks, Debian package, environment
PEERS = (
    ("OpenMP", "openmp_tasks.c", ["-fopenmp"], None, "gcc", {"OMP_NUM_THREADS": "2"}),
    ("StarPU", "starpu_tasks.c", [], "starpu-1.3", "libstarpu-dev", {"STARPU_SILENT": "1"}),
)


def asked_for(builder, shape):
    """The bound of nanoseconds a task, where there is one."""
    if builder == "chip":
        return None
    if shape == "chain":
        return 250
    return 60 if builder == "host" else 150


def rows():
    """(title, unit, bound, name that tern prints, name that peers print, beside busy processes)"""
    found = [(f"{text}, {title}", "ns", asked_for(builder, shape), f"{builder}_{shape}", shape, False)
             for builder, (_, title) in BUILDERS.items() for shape, text in SHAPES.items()]
    found += [(f"{text}, {title}", "ns", None, f"host_{shape}_{name}",
               shape if name == "once" else None, False)
              for name, title in OF_HOST for shape, text in SHAPES.items()]
    found += [(f"{SHAPES[shape]}, {title}, beside {BUSY} busy processes", "ns", "OpenMP",
               f"{builder}_{shape}", shape, True)
              for builder, (_, title) in BUILDERS.items() for shape in BUSY_SHAPES]
    alone = (("from regions: submitting a task of 4 regions", "ns", 80, "submit"),
             ("the same, the last tenth / the second, all live", "x", None, "submit_last_to_first"),
             ("from regions: a task of very many", "ns", None, "scale"),
             ("the first tenth of them", "ns", None, "scale_first"),
             ("the last tenth of them", "ns", None, "scale_last"),
             ("memory of the process, at most", "MiB", None, "scale_resident"),
             ("of it, since the first tenth", "MiB", None, "scale_growth"),
             ("signal of a rank to the kernel of a task that waits", "us", 1, "wait_bound"),
             ("the same, ranks not bound to processors", "us", None, "wait"),
             ("a trace adds to a task", "ns", 100, "trace"))
    layers = [(f"tensor-parallel layer of {hidden} and {intermediate}, 2 ranks / its computation alone",
               "x", 1.1, f"layer_{hidden}_{intermediate}") for hidden, intermediate in LAYERS]
    return found + [(*row, None, False) for row in (*alone, *layers)]


def compile_peer(peer, folder):
    """Its program, and why there is none."""
    name, source, flags, module, package, _ = peer
    if shutil.which("gcc") is None:
        return None, f"{name} is not measured: gcc is not installed"
    libraries = []
    if module is not None:
        try:
            asked = subprocess.run(["pkg-config", "--cflags", "--libs", module], capture_output=True,
                                   text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None, f"{name} is not installed (package {package})"
        libraries = asked.stdout.split()
    program = os.path.join(folder, name)
    include = [word for name in ("cli", "src", "test")
               for word in ("-I", os.path.join(BENCH, "..", name))]
    done = subprocess.run(["gcc", "-O2", *flags, *include, "-o", program,
                           os.path.join(BENCH, source), *libraries],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return None, f"{name} does not compile bench/{source}"
    return program, ""


@contextlib.contextmanager
def busy_processes(count):
    """Processes that compute until the block ends, or this process does."""
    loop = ("import os\nparent = os.getppid()\n"
            "while os.getppid() == parent:\n    for _ in range(100000): pass\n")
    processes = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def read_values(text):
    """Of a line 'name value unit' the value, by name."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: float(words[1]) for words in lines if len(words) == 3}


def read_layer(text):
    """What communication adds to the layer of examples/tp_ffn, by the name of its shape."""
    shape = re.search(r"hidden (\d+), intermediate (\d+)", text)
    times = [re.search(rf"^ *{name} +([0-9.]+) ms", text, re.MULTILINE)
             for name in ("layer", "computation alone")]
    if shape is None or None in times:
        return {}
    whole, computation = (float(time[1]) for time in times)
    return {f"layer_{shape[1]}_{shape[2]}": whole / computation}


def run_program(command, environment, title):
    """The values that it printed, by name; {} when it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                              env=dict(os.environ, **environment))
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{title}: {error}", file=sys.stderr)
        return {}
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[:200]
        print(f"{title}: exit status {done.returncode}: {said}", file=sys.stderr)
        return {}
    return read_layer(done.stdout) or read_values(done.stdout)


def plan_runs(tern, systems, quick):
    """What one round runs: (system, command, environment, beside busy processes)."""
    pick = 0 if quick else 1
    programs = os.path.dirname(tern)
    found = []
    for busy, shapes in ((False, tuple(SHAPES)), (True, BUSY_SHAPES)):
        arguments = [str(number) for number in COUNTS[pick]] + list(shapes)
        found += [("tern", [os.path.join(programs, program), builder, *arguments], {}, busy)
                  for builder, (program, _) in BUILDERS.items()]
        found += [(name, [program, *arguments], environment, busy)
                  for name, program, environment in systems]
    tasks, orchestrate = (os.path.join(programs, f"bench_{name}") for name in ("tasks", "orchestrate"))
    alone = ([orchestrate, "submit", SUBMITTED_TASKS], [orchestrate, "scale", SCALE_TASKS],
             [tern, "run", "--bind", "core", "-n", "2", tasks, "wait", WAIT_ROUNDS, "wait_bound"],
             [tern, "run", "-n", "2", tasks, "wait", WAIT_ROUNDS],
             [tern, "run", "-n", "1", tasks, "trace", TRACED_TASKS],
             *([tern, "run", "-n", "2", os.path.join(programs, "tp_ffn"), "--tokens", LAYER_TOKENS,
                "--hidden", str(hidden), "--intermediate", str(intermediate)]
               for hidden, intermediate in LAYERS * LAYER_TURNS[pick]))
    return found + [("tern", [word if isinstance(word, str) else str(word[pick]) for word in command],
                     {}, False) for command in alone]


def collect(runs, rounds):
    """values[system, name, busy]: a list, one value a round. Systems take turns in every round."""
    values = {}
    for round_number in range(rounds):
        for system, command, environment, busy in runs:
            with busy_processes(BUSY if busy else 0):
                got = run_program(command, environment, f"{system}, {os.path.basename(command[0])}")
            for name, value in got.items():
                values.setdefault((system, name, busy), []).append(value)
        print(f"tasks: round {round_number + 1} of {rounds} done", file=sys.stderr)
    return values


def table(values, peers, absent):
    """The rows that tern has values for, and the titles of those that it has none for."""
    lines, missing = [], []
    for title, unit, bound, name, of_peers, busy in rows():
        own = values.get(("tern", name, busy))
        if not own:
            missing.append(title)
            continue
        cells = [title, unit, "" if bound is None else f"{'<' if busy else '<='} {bound}", spread(own)]
        others = [values.get((peer, of_peers, busy), []) for peer in peers]
        cells += [spread(other) if other else "" for other in others]
        best = min((statistics.median(other) for other in others if other), default=None)
        cells.append(ratio(best / statistics.median(own)) if best is not None else "")
        lines.append(cells)
    lines += [[why] + [""] * (4 + len(peers)) for why in absent]
    return markdown(["what", "unit", "asked for", "tern", *peers, "faster peer / tern"], lines), missing


def measure(tern, with_peers, quick, rounds):
    """The chapter about task graphs as Markdown, and whether every row has a value of tern."""
    with tempfile.TemporaryDirectory() as folder:
        systems, absent = [], []
        for peer in PEERS if with_peers else ():
            program, why = compile_peer(peer, folder)
            if program is None:
                absent.append(why)
            else:
                systems.append((peer[0], program, dict(peer[5], STARPU_HOME=folder)))
        values = collect(plan_runs(tern, systems, quick), rounds)
    text, missing = table(values, [name for name, _, _ in systems], absent)
    if missing:
        print(f"no value of tern for: {', '.join(missing)}", file=sys.stderr)
    return chapter(text, 0 if quick else 1, rounds), not missing


def chapter(text, pick, rounds):
    return ("## Tasks\n\n"
            f"Graphs of {COUNTS[pick][0]} empty tasks, nanoseconds a task; medians of {rounds} runs "
            "(lowest..highest), systems in turn. tern has one core and its scheduler, OpenMP (GNU) two "
            "threads, StarPU one CPU worker (eager scheduler) beside the thread that submits. The last "
            "column says how many times better tern is than the faster peer; below 1 is bold.\n\n"
            f"{text}\n"
            "Peers have no graph that is kept: their times are from the first task submitted to the end "
            "of the last, and stand beside both the second launch of a graph of tern and building and "
            "running it once. A task of OpenMP has a byte for its end as `depend(out)` and those of the "
            "tasks before it as `depend(in)`; StarPU's have explicit dependencies "
            "(`starpu_task_declare_deps_array`). OpenMP runs a task that waits for none at once, in the "
            "thread that submits it, while 64 tasks a thread are queued.\n\n"
            "From regions: a task writes memory from a heap and reads that of the tasks before it; what 64 "
            "wrote is parts of one buffer, and read as one region. Submitting alone: "
            f"{SUBMITTED_TASKS[pick]} tasks, of which none starts before all are submitted, with two "
            "regions that they read, one from a heap that they write, and one that they add to. Very many: "
            f"{SCALE_TASKS[pick]} tasks of two regions, one read and one from a heap.\n\n"
            "Fan-in: layers of 64 producers, 64 consumers each after all of them, and a task after "
            "those, before the next layer. Random DAG: inputs among the 1000 tasks before. Signal to "
            "kernel: half a round trip between two ranks, whose tasks notify each other. The layer is "
            f"examples/tp_ffn with {LAYER_TOKENS[pick]} tokens, f32 and one matrix core a rank: four products and "
            "two AllReduces; its computation alone is the same products without them, in the same process "
            f"in turn; {LAYER_TURNS[pick] * rounds} processes.\n")
