# SPDX-License-Identifier: Apache-2.0
"""Kernels: functions of shared objects (made by `tern kernel-cc -shared` or a C compiler) or of
Python, and their arguments.

A compiled kernel is void kernel(int64_t *args). A function of Python as a kernel gets its arguments
as they were given (regions as arrays). Such kernels run one at a time but for what NumPy does
without the interpreter's lock (products of matrices, large sums), so they are for trying things
out.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _errors, _layouts
from ._dtypes import check_array
from ._library import lib
from .region import Region
from .window import Window

ARGS_MAX = 48  # TERN_TASK_ARGS_MAX
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int64))


class Kernel:
    """A kernel of a shared object. It keeps the object open."""

    def __init__(self, name: str, address: int, owner: Any) -> None:
        self.name, self.address, self._owner = name, address, owner

    def __repr__(self) -> str:
        return f"<tern.Kernel {self.name}>"


class Kernels:
    """A shared object with kernels: kernels["add"] or kernels.add. KernelError says why it cannot
    be opened, or that it has no such function. It is never closed: a chip may still use it."""

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        _errors.path_bytes("path", path)
        make_global()
        self.path = os.path.abspath(os.fspath(path))
        try:
            self._object = ctypes.CDLL(self.path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise _kernel_error(f"{self.path} cannot be opened: {error}") from None

    def __getitem__(self, name: str) -> Kernel:
        try:
            function = getattr(self._object, name)
        except AttributeError:
            raise _kernel_error(f"{self.path} has no kernel '{name}'") from None
        return Kernel(name, ctypes.cast(function, ctypes.c_void_p).value, self)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


@functools.lru_cache(maxsize=None)
def make_global() -> None:
    """Objects that are opened from now on may call tern without being linked with it."""
    ctypes.CDLL(lib().path, mode=os.RTLD_GLOBAL | os.RTLD_NOLOAD)


def _kernel_error(sentence: str) -> _errors.Error:
    return _errors.make(_errors.status_number("TERN_ERR_KERNEL"), sentence)


def kernel_block() -> int:
    """In a kernel: which of the task's blocks this call is."""
    return lib().tern_kernel_block()


def kernel_core() -> int:
    """In a kernel: the index of the core among those of its kind."""
    return lib().tern_kernel_core()


def kernel_run() -> int:
    """In a kernel: how often its graph has been launched before."""
    return lib().tern_kernel_run()


def fail_kernel(sentence: str) -> None:
    """In a kernel: it has failed; what comes after its task does not run."""
    call = lib().cdll.tern_kernel_fail
    call.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    call.restype = None
    call(b"%s", _errors.sentence_bytes(sentence))


def callback(function: Callable, given: Callable[[Any], Sequence[Any]],
             raised: List[BaseException]) -> Any:
    """A C function that calls one of Python with what `given` makes of the args; what it raises
    fails the kernel, and is kept."""

    def run(args: Any) -> None:
        try:
            function(*given(args))
        except BaseException as error:
            raised.append(error)
            fail_kernel(f"it raised {type(error).__name__}: {_errors.text_of(error)}")

    return FUNCTION(run)


def word_of(argument: Any, where: str) -> Tuple[int, Any]:
    """(int64, what must live as long) of an argument of a kernel: numbers, arrays by their address,
    regions and ctypes structures by theirs, windows as tern_window *, NumPy floats as their bits.
    """
    if argument is None:
        return 0, None
    if isinstance(argument, (bool, int, np.integer, np.bool_)):
        value = int(argument)
        if not -(1 << 63) <= value < 1 << 64:
            raise _errors.argument_error(f"{where} is {value}; arguments have 64 bits")
        return ctypes.c_int64(value & (1 << 64) - 1).value, None
    if isinstance(argument, np.floating):
        return int.from_bytes(argument.tobytes(), "little"), None
    if isinstance(argument, np.ndarray):
        return check_array(where, argument)[0], argument
    if isinstance(argument, Region):
        return ctypes.addressof(argument.raw), argument
    if isinstance(argument, Window):
        return argument.handle, argument
    if isinstance(argument, (ctypes.Structure, ctypes.Array, ctypes._SimpleCData)):
        return ctypes.addressof(argument), argument
    hint = "; say numpy.float32(x) or numpy.float64(x)" if isinstance(argument, float) else ""
    raise _errors.argument_error(f"{where} is of type {type(argument).__name__}; a kernel takes "
                                 f"numbers, arrays, regions and windows{hint}")


def words_of(args: Sequence[Any], where: str) -> Tuple["ctypes.Array", List[Any]]:
    """The args of a task, and what they keep."""
    if len(args) > ARGS_MAX:
        raise _errors.LimitError(_errors.status_number("TERN_ERR_LIMIT"),
                                 f"{where}: {len(args)} arguments; {ARGS_MAX} is the limit")
    pairs = [word_of(argument, f"{where}: argument {i}") for i, argument in enumerate(args)]
    words = (ctypes.c_int64 * max(len(pairs), 1))(*[word for word, _ in pairs])
    return words, [kept for _, kept in pairs if kept is not None]


def name_of(kernel: Any, name: Optional[str]) -> str:
    if name is not None:
        return name
    if isinstance(kernel, str):
        return kernel
    return getattr(kernel, "name", None) or getattr(kernel, "__name__", "task")


def set_kernel(task: _layouts.Task, kernel: Any, given: Callable[[Any], Sequence[Any]],
               raised: List[BaseException], slot: Optional[int] = None) -> Any:
    """Fills in a task's kernel (or that of a slot of a mixed task); returns what must live."""
    function, text, kept = None, None, kernel
    if isinstance(kernel, Kernel):
        function = kernel.address
    elif isinstance(kernel, str):
        text = _errors.name_bytes("the name of a kernel", kernel)
    elif callable(kernel):
        kept = callback(kernel, given, raised)
        function = ctypes.cast(kept, ctypes.c_void_p).value
    elif kernel is not None:
        raise _errors.argument_error(f"a kernel is of type {type(kernel).__name__}; it is one of a "
                                     "Kernels, a name in a loaded object, or a function")
    if slot is None:
        task.kernel, task.kernel_name = function, text
    else:
        task.mix[slot], task.mix_names[slot] = function, text
    return kept
