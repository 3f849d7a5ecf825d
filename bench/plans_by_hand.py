# SPDX-License-Identifier: Apache-2.0
"""Plans written by hand for ranks that can only push to each other: each on a machine of its own."""

UNIT = 4


class Plan:
    """The text of a plan, lane 0 of each rank."""

    def __init__(self, kind, name, nranks, size, scratch=0):
        self.head = ["tern-plan 1", f"kind {kind}", f"ranks {nranks}", f"bytes {size}", f"unit {UNIT}",
                     f"algorithm {name}"]
        self.head += ["root 0"] if kind == "broadcast" else []
        self.head += [f"scratch {scratch}"] if scratch > 0 else []
        self.ops = [[] for _ in range(nranks)]

    def copy(self, rank, length, source, destination):
        self.ops[rank].append(f"copy @0 {length} : {source} -> {destination}")

    def reduce(self, rank, length, sources, destination):
        self.ops[rank].append(f"reduce @0 {length} : {' '.join(sources)} -> {destination}")

    def post(self, rank, peer, signal=0):
        self.ops[rank].append(f"post @0 rank {peer} signal {signal}")

    def wait(self, rank, signal, count):
        self.ops[rank].append(f"wait @0 signal {signal} count {count}")

    def text(self):
        lines = list(self.head)
        for rank, ops in enumerate(self.ops):
            lines += [f"rank {rank} lane 0", *ops]
        return "\n".join(lines + ["end", ""])


def write(path, plan):
    with open(path, "w", encoding="utf-8") as file:
        file.write(plan.text())


def copy(nranks, size):
    """Rank 0 to all others, one after the other."""
    plan = Plan("broadcast", "copy", nranks, size)
    plan.copy(0, size, "0.in+0", "0.out+0")
    plan.copy(0, size, "0.in+0", "0.out+0")
    for rank in range(1, nranks):
        plan.copy(0, size, "0.in+0", f"{rank}.out+0")
        plan.post(0, rank)
        plan.wait(rank, 0, 1)
    return plan


def ring(nranks, size):
    """Sums go round, then results do: 2(n-1) steps of a share each. Sums arrive in scratch."""
    share = size // nranks
    plan = Plan("all_reduce", "ring", nranks, size, scratch=size)
    for step in range(nranks - 1):
        for rank in range(nranks):
            after, sent, got = (rank + 1) % nranks, (rank - step) % nranks, (rank - step - 1) % nranks
            source = "in" if step == 0 else "out"
            plan.copy(rank, share, f"{rank}.{source}+{sent * share}", f"{after}.scratch+{step * share}")
            plan.post(rank, after)
            plan.wait(rank, 0, step + 1)
            plan.reduce(rank, share, [f"{rank}.scratch+{step * share}", f"{rank}.in+{got * share}"],
                        f"{rank}.out+{got * share}")
    for step in range(nranks - 1):
        for rank in range(nranks):
            after, sent = (rank + 1) % nranks, (rank + 1 - step) % nranks
            plan.copy(rank, share, f"{rank}.out+{sent * share}", f"{after}.out+{sent * share}")
            plan.post(rank, after, 1)
            plan.wait(rank, 1, step + 1)
    return plan


def star(nranks, size):
    """All inputs to rank 0, which sums them in order and sends the result to each."""
    plan = Plan("all_reduce", "star", nranks, size, scratch=nranks * size)
    for rank in range(1, nranks):
        plan.copy(rank, size, f"{rank}.in+0", f"0.scratch+{rank * size}")
        plan.post(rank, 0)
        plan.wait(rank, 0, 1)
    plan.wait(0, 0, nranks - 1)
    plan.reduce(0, size, ["0.in+0"] + [f"0.scratch+{rank * size}" for rank in range(1, nranks)], "0.out+0")
    for rank in range(1, nranks):
        plan.copy(0, size, "0.out+0", f"{rank}.out+0")
        plan.post(0, rank)
    return plan


def to_all(name, nranks, size, waits):
    """all_to_all: each rank to the next, the one after that, and so on."""
    share = size // nranks
    plan = Plan("all_to_all", name, nranks, size)
    for rank in range(nranks):
        plan.copy(rank, share, f"{rank}.in+{rank * share}", f"{rank}.out+{rank * share}")
        for step in range(1, nranks):
            peer = (rank + step) % nranks
            plan.copy(rank, share, f"{rank}.in+{peer * share}", f"{peer}.out+{rank * share}")
            plan.post(rank, peer, step - 1 if waits else 0)
            if waits:
                plan.wait(rank, step - 1, 1)
        if not waits:
            plan.wait(rank, 0, nranks - 1)
    return plan


def pairs(nranks, size):
    """In steps, in each of which a rank sends one share and receives one."""
    return to_all("pairs", nranks, size, True)


def at_once(nranks, size):
    """All shares as soon as they can be sent."""
    return to_all("at_once", nranks, size, False)
