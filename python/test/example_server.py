# SPDX-License-Identifier: Apache-2.0
"""Runs of the command that begin as children of one Python, which has read the runner and what goldens
import: otherwise most of the time of a run is the start of Python. A request is the words, the
environment and the folder, with the two ends that the run writes to; the answer is its exit status.

As a script it is that Python: `python3 example_server.py FD MODULE...`, with a socket for requests."""

from __future__ import annotations

import importlib
import io
import json
import os
import selectors
import socket
import subprocess
import sys
import time
import traceback
from typing import Dict, List, Optional, Tuple

_BYTES = 1 << 20  # of a request, at most


class Server:
    """The other Python; it ends when this process does."""

    def __init__(self, environment: Dict[str, str], *modules: str) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _BYTES)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *modules], env=environment,
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)

    def run(self, words: List[str], environment: Dict[str, str], folder: str,
            timeout: float) -> Tuple[int, str, str]:
        """The exit status, standard output and standard error, when nobody has them open."""
        request = json.dumps([words, environment, folder]).encode()
        pairs = [os.pipe(), os.pipe()]
        socket.send_fds(self._socket, [request], [write for _, write in pairs])
        for _, write in pairs:
            os.close(write)
        try:
            out, err = self._read([read for read, _ in pairs], time.monotonic() + timeout)
            self._socket.settimeout(timeout)
            return int(self._socket.recv(64)), out, err
        except (TimeoutError, socket.timeout):
            os.killpg(self._process.pid, 9)
            raise
        finally:
            for read, _ in pairs:
                os.close(read)

    @staticmethod
    def _read(ends: List[int], last: float) -> List[str]:
        texts = {end: b"" for end in ends}
        with selectors.DefaultSelector() as selector:
            for end in ends:
                selector.register(end, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, last - time.monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    part = os.read(key.fd, 1 << 16)
                    texts[key.fd] += part
                    if not part:
                        selector.unregister(key.fd)
        return [text.decode() for text in texts.values()]


def _status_of(words: List[str]) -> int:
    """As the interpreter ends after `python3 -m tern.run_example`."""
    from tern.example.runner import main

    try:
        status: Optional[object] = main(words)
    except SystemExit as error:
        status = error.code
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    return status if isinstance(status, int) else 0 if status is None else 1


def _child(request: bytes, ends: List[int]) -> None:
    words, environment, folder = json.loads(request)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, end in enumerate(ends, 1):
        os.dup2(end, number)
        os.close(end)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8",
                                  write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8",
                                  errors="backslashreplace", write_through=True)
    sys.path[0] = folder
    os._exit(_status_of(words))


def _serve(requests: socket.socket) -> None:
    while True:
        request, ends, _, _ = socket.recv_fds(requests, _BYTES, 2)
        if not request:
            return
        child = os.fork()
        if child == 0:
            requests.close()
            _child(request, ends)
        for end in ends:
            os.close(end)
        _, status = os.waitpid(child, 0)
        requests.send(str(-os.WTERMSIG(status) if os.WIFSIGNALED(status)
                          else os.WEXITSTATUS(status)).encode())


if __name__ == "__main__":
    for module in ["tern.example.runner", *sys.argv[2:]]:
        importlib.import_module(module)
    _serve(socket.socket(fileno=int(sys.argv[1])))
