# SPDX-License-Identifier: Apache-2.0
"""tern.launch: a function on n ranks, from a notebook, a test or a script, and its results.

Ranks are forks of the calling process. So functions of notebooks and of __main__, lambdas and
closures work, and arguments are not copied; only results are pickled. A fork has the calling thread
alone: a lock that another thread holds at that moment stays locked in it, which the deadline ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import itertools
import operator
import os
import pickle
import selectors
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
import warnings
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Tuple

from ._errors import InterruptedError, LeftError, PeerError, argument_error, text_of
from ._library import lib

RANKS_MAX = 64
TIMEOUT_S = 300.0
LOOK_S = 0.1
GRACE_S = 1.0  # for the others, once one has failed: their own errors come within that
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_HEAD = struct.Struct("<Q")


class LaunchError(RuntimeError):
    """A rank of tern.launch failed. str() has the rank, what happened, and the rank's traceback.

    rank        which one, or None when no single one is to blame
    traceback   its traceback as text, "" when it was killed or did not return
    __cause__   its exception, where that could be pickled
    """

    def __init__(self, sentence: str, rank: Optional[int] = None, traceback_text: str = "") -> None:
        RuntimeError.__init__(self, sentence, rank, traceback_text)
        self.sentence = sentence
        self.rank = rank
        self.traceback = traceback_text

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.traceback}" if self.traceback else self.sentence


def launch(fn: Callable, nranks: int, *args: Any, timeout: Optional[float] = None,
           **kwargs: Any) -> List[Any]:
    """Runs fn(comm, *args, **kwargs) on nranks ranks, each a process, and returns the results in the
    order of ranks. `comm` is a tern.Comm of all of them, which is left when fn has returned.

    timeout: seconds for the whole (None: 300), and for each wait where TERN_TIMEOUT does not say
    less. LaunchError for the first rank that fails: it raises,
    is killed, calls os._exit, or does not return in time. Then all ranks are ended; nothing is left
    behind, also when the caller is interrupted or killed. What ranks print goes where the caller's
    prints go.
    """
    if not callable(fn):
        raise argument_error(f"launch: fn is of type {type(fn).__name__}; it is a function")
    if hasattr(nranks, "__index__"):  # a number of NumPy, too
        nranks = operator.index(nranks)
    if not isinstance(nranks, int) or not 1 <= nranks <= RANKS_MAX:
        raise argument_error(f"launch: nranks is {nranks!r}; it is a number from 1 to {RANKS_MAX}")
    seconds = TIMEOUT_S if timeout is None else float(timeout)
    if not 0 < seconds < 1e9:
        raise argument_error(f"launch: timeout is {timeout}; it is a number of seconds above 0")
    lib()  # loaded once, and its errors are the caller's
    job = _Job(nranks, seconds)
    # A handler may raise between a call and the `try` around it, or where a loop goes round. Then what
    # is left to do is done by the next one: between them, none runs.
    with job, job, job, job:
        job.make_folder()
        for rank in range(nranks):
            job.fork(rank, fn, args, kwargs)
        return job.collect()


class _Job:
    """The ranks of a launch, seen from the caller."""

    def __init__(self, nranks: int, seconds: float) -> None:
        self.nranks = nranks
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.folder = ""
        self.ended = False
        self.forked: List[int] = []  # by rank: 0 in the rank itself
        self.pids: Dict[int, int] = {}  # rank to process, until it was reaped
        self.pipes: Dict[int, int] = {}
        self.received: Dict[int, bytearray] = {rank: bytearray() for rank in range(nranks)}
        self.results: Dict[int, Any] = {}
        self.failures: List[LaunchError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        raised = None
        while not self.ended:
            try:
                self.end()
            except Exception:
                raise
            except BaseException as error:  # Ctrl-C meanwhile: it comes behind the end
                raised = error
        if raised is not None:
            try:
                raise raised
            finally:
                del raised  # it knows this frame, and so all that is held there

    def fork(self, rank: int, fn: Callable, args: tuple, kwargs: dict) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # else each rank would print what is in them
                stream.flush()
        parent, ends = os.getpid(), []
        # A handler that raises in the rank, before it is in its own code, would make it go on with
        # the caller's; and here the rank must be known before one raises.
        with _no_signals() as mask:
            try:
                reader, writer = ends = _pipe()
                with warnings.catch_warnings():  # of threads, which do not come along
                    warnings.simplefilter("ignore", DeprecationWarning)
                    # One call of C: no handler runs before the rank is known.
                    self.forked.extend(itertools.starmap(os.fork, [()]))
                pid = self.forked[rank]
                if pid == 0:
                    try:
                        others = [reader, *self.pipes.values()]
                        _be_rank(_Rank(rank, self.nranks, self.folder, self.deadline, writer,
                                       parent, mask, others), fn, args, kwargs)
                    finally:
                        os._exit(1)
                self.pids[rank], self.pipes[rank] = pid, reader
                ends = [writer]
                os.set_blocking(reader, False)
                with contextlib.suppress(OSError):  # the rank does it, too: whoever comes first
                    os.setpgid(pid, pid)
            finally:
                for end in ends:
                    os.close(end)

    def collect(self) -> List[Any]:
        """The results, or the first failure."""
        with selectors.DefaultSelector() as selector:
            for rank, pipe in self.pipes.items():
                selector.register(pipe, selectors.EVENT_READ, rank)
            while selector.get_map():
                left = self.deadline - time.monotonic()
                if left <= 0:
                    self.deadline_passed()
                    break
                selector.select(min(left, LOOK_S))
                for rank in [key.data for key in list(selector.get_map().values())]:
                    ended = self.has_ended(rank)  # looked at first: what it wrote is there then
                    if self.read(rank) or ended:
                        selector.unregister(self.pipes[rank])
                        self.finish(rank)
        if self.failures:
            raise self.blamed()
        return [self.results[rank] for rank in range(self.nranks)]

    def read(self, rank: int) -> bool:
        """Takes what the rank has written; whether it has written all, or has ended."""
        data = self.received[rank]
        while True:
            try:
                piece = os.read(self.pipes[rank], 1 << 20)
            except BlockingIOError:
                return False
            data += piece
            if not piece:
                return True
            if len(data) >= _HEAD.size and len(data) >= _HEAD.size + _HEAD.unpack_from(data)[0]:
                return True

    def finish(self, rank: int) -> None:
        data = self.received.pop(rank)
        if len(data) < _HEAD.size or len(data) < _HEAD.size + _HEAD.unpack_from(data)[0]:
            self.fail(LaunchError(f"rank {rank} of {self.nranks} {self.how_ended(rank)}", rank))
            return
        try:
            kind, *content = pickle.loads(memoryview(data)[_HEAD.size :])
        except Exception as error:
            self.fail(LaunchError(f"rank {rank} of {self.nranks}: its result cannot be unpickled: "
                                  f"{type(error).__name__}: {error}", rank))
            return
        if kind == "result":
            self.results[rank] = content[0]
            return
        name, text, pickled = content
        failure = LaunchError(f"rank {rank} of {self.nranks} raised {name}", rank, text)
        with contextlib.suppress(Exception):
            failure.__cause__ = pickle.loads(pickled) if pickled else None
        self.fail(failure)

    def fail(self, failure: LaunchError) -> None:
        self.failures.append(failure)
        self.deadline = min(self.deadline, time.monotonic() + GRACE_S)

    def has_ended(self, rank: int) -> Any:
        """How the process of a rank has ended, or None. It is not reaped, so that its number stays
        its own."""
        return os.waitid(os.P_PID, self.pids[rank], os.WEXITED | os.WNOWAIT | os.WNOHANG)

    def how_ended(self, rank: int) -> str:
        """What became of a rank whose pipe closed without a result."""
        until = time.monotonic() + GRACE_S
        ended = self.has_ended(rank)
        while ended is None and time.monotonic() < until:
            time.sleep(0.005)
            ended = self.has_ended(rank)
        if ended is None:
            return "has closed its connection, and goes on"
        if ended.si_code != os.CLD_EXITED:
            name = signal.strsignal(ended.si_status)
            return f"was killed by signal {ended.si_status} ({name})"
        return f"ended with exit status {ended.si_status} before fn had returned"

    def deadline_passed(self) -> None:
        if self.failures:
            return  # of the others, which had their time to say why
        late = [rank for rank in range(self.nranks) if rank in self.received]
        names = ", ".join(map(str, late))
        have = "ranks " + names + " have" if len(late) > 1 else "rank " + names + " has"
        self.failures.append(LaunchError(
            f"{have} not returned after {self.seconds:g} s{self.report()}",
            late[0] if len(late) == 1 else None))

    def report(self) -> str:
        """What the library knows about the ranks of the job, where it knows something."""
        text = ctypes.c_char_p()
        for pid in self.pids.values():
            if lib().tern_job_report(pid, 1, 0, ctypes.byref(text)) == 0:
                said = (text.value or b"").decode("utf-8", "replace").rstrip()
                _free(text)
                return ":\n" + said
        return ""

    def blamed(self) -> LaunchError:
        """The first that is no consequence of another."""
        for failure in self.failures:
            if not isinstance(failure.__cause__, (PeerError, LeftError, InterruptedError)):
                return failure
        return self.failures[0]

    def make_folder(self) -> None:
        folder = os.path.join(tempfile.gettempdir(), f"tern-launch-{os.urandom(8).hex()}")
        self.folder = folder  # known before it exists, so that nothing that comes between leaves it
        os.mkdir(folder, 0o700)

    def end(self) -> None:
        """Ends what is there, with all that the ranks have started in their process groups. Is
        called until `ended`: a handler of a signal may raise in it."""
        with _no_signals():
            complete = len(self.results) == self.nranks
            self.pids.update(enumerate(self.forked))
            self.forked.clear()
            for pid in self.pids.values():
                if complete:  # it has written its result and is at its end
                    with contextlib.suppress(ChildProcessError):
                        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                for kill in (os.killpg, os.kill):
                    with contextlib.suppress(OSError):
                        kill(pid, signal.SIGKILL)
            for pid in self.pids.values():
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
            self.pids.clear()
            for rank, pipe in list(self.pipes.items()):
                with contextlib.suppress(OSError):
                    os.close(pipe)
                self.pipes.pop(rank)
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.ended = True


class _Rank:
    """What a forked rank knows of its place."""

    def __init__(self, rank: int, nranks: int, folder: str, deadline: float, pipe: int,
                 parent: int, mask: Any, others: List[int]) -> None:
        self.rank = rank
        self.nranks = nranks
        self.folder = folder
        self.deadline = deadline
        self.pipe = pipe
        self.parent = parent
        self.mask = mask  # of signals, as the caller has it
        self.others = others  # pipes of the caller


def _be_rank(place: _Rank, fn: Callable, args: tuple, kwargs: dict) -> NoReturn:
    """The whole life of a rank. Never returns into the caller's code."""
    status = 1
    try:
        os.setpgid(0, 0)  # what it starts ends with it
        gc.freeze()  # what the parent made is not this process's to clean up
        for pipe in place.others:
            os.close(pipe)
        nothing = os.open(os.devnull, os.O_RDONLY)
        if nothing != 0:
            os.dup2(nothing, 0)
            os.close(nothing)
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != place.parent:
            os._exit(1)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        message = _run(place, fn, args, kwargs)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        _write_all(place.pipe, _HEAD.pack(len(message)) + message)
        status = 0
    finally:
        os._exit(status)  # no handlers of the parent's exit, no buffers of its files


def _run(place: _Rank, fn: Callable, args: tuple, kwargs: dict) -> bytes:
    """What the rank sends: ("result", value), or ("error", name, traceback, pickled exception)."""
    from .comm import init_at

    comm = None
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, place.mask)  # what waits is raised in here
        # TERN_TIMEOUT is every communicator's deadline; without it, waits have the time of launch, and
        # a little more: whoever does not return is named by launch.
        left = None
        if not os.environ.get("TERN_TIMEOUT"):
            left = max(place.deadline - time.monotonic(), 0) + GRACE_S
        comm = init_at(place.rank, place.nranks, os.path.join(place.folder, "meet"), left)
        if place.rank == 0:  # all have met, and the folder is of no use any more
            with contextlib.suppress(OSError):
                os.rmdir(place.folder)
        result = fn(comm, *args, **kwargs)
        try:
            message = pickle.dumps(("result", result), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise TypeError(f"what fn has returned cannot be pickled: {error}") from error
        comm.destroy()
        return message
    except BaseException as error:
        said = text_of(error.code if isinstance(error, SystemExit) else error)
        name = f"{type(error).__name__}: {said}"
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return pickle.dumps(("error", name, text, _pickled(error)))


def _pickled(error: BaseException) -> Optional[bytes]:
    """The exception for the caller, where it can be made again there."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return None
    return data


@contextlib.contextmanager
def _no_signals() -> Iterator[Any]:
    """Signals come behind it, where no other thread takes them; gives the mask that was before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())  # apart: what blocks may raise, too
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _pipe() -> Tuple[int, int]:
    """Above the standard streams, also where those are closed."""
    ends = []
    for low in os.pipe():
        ends.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 3) if low < 3 else low)
        if low < 3:
            os.close(low)
    return ends[0], ends[1]


def _write_all(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _free(text: ctypes.c_char_p) -> None:
    function = ctypes.CDLL(None).free
    function.argtypes = [ctypes.c_void_p]
    function(ctypes.cast(text, ctypes.c_void_p))


__all__ = ["LaunchError", "launch"]
