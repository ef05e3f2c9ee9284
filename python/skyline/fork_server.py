"""Imports a function once and forks a process for each trial, which calls it.

usage: python -m skyline.fork_server FUNCTION, as Skyline starts it for `command.python`

Descriptor 3 is a socket to the rank. The rank sends requests, each with the descriptors of a launcher; answers are texts:
`ready PROTOCOL`, `refused REASON`, `launcher PROCESS`, `problem REASON`. For a trial this process forks the future launcher,
which forks the process that calls the function, and then becomes the launcher: so the launcher is the parent of that process,
as of any program that it has started.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import glob
import importlib
import operator
import os
import re
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from skyline import run_trial
from skyline._trial import trial

_PROTOCOL = "1"  # src/evaluate/process/fork_server.cpp
_CHANNEL = 3
# The numbers of a launcher's descriptors (src/launcher/launch_protocol.hpp). None of the module's files may have one.
_LOG, _CONTROL, _REPORT, _HELD, _OUTPUT, _GO = 1, 3, 4, 5, 6, 7
_TRIALS_REPORT = 3
_FIRST_FREE = 8
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_MARK = "SKYLINE_PROCESS_MARK"
_LIBRARIES = re.compile(r"/[^\n]*(?:gomp|libomp|iomp|openblas|mkl_rt)[^/\n]*\.so[^/\n]*$", re.MULTILINE)
_SETTERS = {"omp_set_num_threads": "OMP_NUM_THREADS", "MKL_Set_Num_Threads": "MKL_NUM_THREADS",
            **{f"{prefix}openblas_set_num_threads{suffix}": "OPENBLAS_NUM_THREADS" for prefix in ("", "scipy_") for suffix in ("", "64_")}}
_DEVICES = re.compile(r"/dev/(nvidia.*|kfd|dri/render.*)")
_PR_SET_PDEATHSIG = 1
_FILLED = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0 *(?:\[heap\])?\n(?:[A-Z].*\n)*?Anonymous: +(\d+) kB$", re.MULTILINE)
_MADV_COLLAPSE = 25  # constant of Linux 6.1
_LARGE_PAGE = 1 << 21
_PART = 8 * _LARGE_PAGE  # piece of an area, moved in one request, which takes about 0.1 s
_MOVING_S = 1.0  # in all; a trial waits meanwhile
_LARGEST_AREA = 512 << 20  # bytes; larger ones are data, of which forks that live would have a copy meanwhile
_MANY_TRIALS = 10  # after which large pages pay, since more will come
_PATIENCE_S = 40.0  # with a fork that has not become a launcher, on a busy machine; the rank waits 60 s for the answer
_THREADS_END_S = 4.0  # a joined thread may be listed a little longer

_libc = ctypes.CDLL(None, use_errno=True)


class _Refused(Exception):
    """Why a fork of this process could not call the function."""


def _tasks() -> int:
    return len(os.listdir("/proc/self/task"))


def _open_devices() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # descriptor of the list itself
            continue
        if _DEVICES.fullmatch(target):
            found.append(target)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        found.append("CUDA of torch")
    return found


def _check_forkable(what: str, tasks: int | None = None) -> None:
    """Refuses what a fork loses. @param tasks: the number of threads that may be there, those of libraries included"""
    advice = "or set command.start: fresh"
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            raise _Refused(f'{what} left the thread "{thread.name}" running, which a fork loses; stop it there, {advice}')
    for device in _open_devices():
        raise _Refused(f"{what} has opened a device ({device}), which a fork cannot use; use it first in the function, {advice}")
    deadline = time.monotonic() + _THREADS_END_S
    while tasks is not None and _tasks() > tasks and time.monotonic() < deadline:
        time.sleep(0.01)
    if tasks is not None and _tasks() > tasks:
        raise _Refused(f"{what} left threads of a library running, which a fork loses: it must not compute; {advice}")


def _load(address: str) -> Callable[..., Any]:
    """Imports the function's module, and has it warm up. Raises _Refused, or what the module raises."""
    place, _, name = address.rpartition(":")
    module = run_trial.load_module(place)
    if "torch" in sys.modules and not glob.glob("/dev/nvidia*"):  # it might open a device, which a fork cannot use
        with contextlib.suppress(Exception):  # torch may lack what it imports
            importlib.import_module("torch._dynamo")  # import of its optimizers at their first step: a second of each trial
    function: Callable[..., Any] = operator.attrgetter(name)(module)
    _check_forkable(f"importing {place}")
    tasks = _tasks()
    warm_up = getattr(module, "warm_up", None)
    if callable(warm_up):
        warm_up()
        _check_forkable(f"warm_up() of {place}", tasks)
    return function


def _thread_setters() -> list[tuple[Callable[[int], Any], str]]:
    """Returns the functions of loaded libraries that set their number of threads, each with its variable."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        files = sorted(set(_LIBRARIES.findall(maps.read())))
    found = []
    for file in files:
        library = ctypes.CDLL(file)
        found += [(getattr(library, name), variable) for name, variable in _SETTERS.items() if hasattr(library, name)]
    return found


def _use_large_pages() -> None:
    """Moves memory that the import has filled to pages of 2 MiB, so that forks copy small page tables (of torch 11 ms, not 37).

    For torch it takes as long as 20 forks save, and never more than a second or so. A kernel that knows no such request, or has
    no such pages, leaves all as it was.
    """
    deadline = time.monotonic() + _MOVING_S
    with open("/proc/self/smaps", encoding="utf-8", errors="surrogateescape") as file:
        areas = _FILLED.findall(file.read())
    for first, last, anonymous_kb in areas:
        begin, end = -(-int(first, 16) // _LARGE_PAGE) * _LARGE_PAGE, int(last, 16) // _LARGE_PAGE * _LARGE_PAGE
        is_sparse = 4 * 1024 * int(anonymous_kb) < 3 * (int(last, 16) - int(first, 16))  # it would take more memory
        if is_sparse or end - begin > _LARGEST_AREA:
            continue
        for part in range(begin, end, _PART):
            if time.monotonic() > deadline:
                return
            _libc.madvise(ctypes.c_void_p(part), ctypes.c_size_t(min(_PART, end - part)), _MADV_COLLAPSE)


class _Server:
    def __init__(self, channel: socket.socket, function: Callable[..., Any], mark: int) -> None:
        self._channel = channel
        self._function = function
        self._mark = mark
        self._setters = _thread_setters()
        self._folder = os.getcwd()
        self._trials = 0

    def serve(self) -> None:
        """Forks a process for each request, until the rank is gone."""
        _flush()  # text that forks would write again
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # launchers are waited for by nobody here
        self._channel.send(f"ready {_PROTOCOL}".encode())
        while True:
            names, descriptors, _, _ = socket.recv_fds(self._channel, 4096, 8, socket.MSG_CMSG_CLOEXEC)
            if not names:
                return
            ends = dict(zip(names.decode().split(), descriptors))
            answer = self._start(ends)
            for descriptor in descriptors:
                os.close(descriptor)
            self._channel.send(answer.encode())
            self._trials += 1
            if self._trials == _MANY_TRIALS:
                _use_large_pages()

    def _start(self, ends: dict[str, int]) -> str:
        with open(ends["request"], "rb", closefd=False) as file:
            file.seek(0)
            count, *texts = file.read().split(b"\0")[:-1]
        arguments, environment = texts[:int(count)], texts[int(count):]
        try:
            told, tells = os.pipe()  # closed when the fork has become a launcher
        except OSError as problem:
            return f"problem {problem.strerror}"
        try:
            process = os.fork()
        except OSError as problem:
            os.close(tells)
            os.close(told)
            return f"problem {problem.strerror}"
        if process == 0:
            try:
                os.close(told)
                self._become_launcher({**ends, "tells": tells}, arguments, environment)
            except OSError as problem:
                os.write(tells, str(problem.strerror).encode())
            except BaseException:
                traceback.print_exc()
                os.write(tells, b"it failed, see the server's log")
            finally:
                os._exit(1)
        os.close(tells)
        try:
            return self._answer(process, told)
        finally:
            os.close(told)

    @staticmethod
    def _answer(process: int, told: int) -> str:
        """Waits until the fork is a launcher, which neither a signal to this session nor one to its mark can reach."""
        text = b"it did not become a launcher in time"
        if select.select([told], [], [], _PATIENCE_S)[0]:
            text = os.read(told, 1000)
        if not text:
            return f"launcher {process}"
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return f"problem {text.decode(errors='replace')}"

    def _become_launcher(self, ends: dict[str, int], arguments: list[bytes], environment: list[bytes]) -> None:
        os.setsid()
        _write_mark(self._mark, dict(text.split(b"=", 1) for text in environment)[_MARK.encode()])
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        output, output_end = os.pipe()
        go, go_end = os.pipe()
        launcher = os.getpid()
        trial_process = os.fork()
        if trial_process == 0:
            try:
                os.close(ends.pop("tells"))
                os.close(output)
                os.close(go_end)
                self._become_trial(launcher, {**ends, "output": output_end, "go": go}, arguments, environment)
            except BaseException:
                traceback.print_exc()
                _flush()
            finally:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # until the launcher has taken them over
        for descriptor, number in ((os.open(os.devnull, os.O_RDONLY), 0), (ends["log"], _LOG), (ends["log"], 2), (ends["control"], _CONTROL),
                                   (ends.get("report"), _REPORT), (ends.get("held"), _HELD), (output, _OUTPUT), (go_end, _GO)):
            if descriptor is not None:
                os.dup2(descriptor, number)
        os.execve(arguments[0], [arguments[0], f"adopt={trial_process}".encode(), *arguments[1:]],
                  dict(text.split(b"=", 1) for text in environment))

    def _become_trial(self, launcher: int, ends: dict[str, int], arguments: list[bytes], environment: list[bytes]) -> None:
        variables = dict(text.split(b"=", 1) for text in environment)
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != launcher:
            return  # it has died before
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in range(_TRIALS_REPORT, _FIRST_FREE):
            os.close(descriptor)
        for descriptor, number in ((ends["output"], 1), (ends["output"], 2), (ends.get("report"), _TRIALS_REPORT)):
            if descriptor is not None:
                os.dup2(descriptor, number)
        started = os.read(ends["go"], 1)
        for descriptor in ends.values():
            os.close(descriptor)
        self._channel.close()
        if started:
            os._exit(self._run([os.fsdecode(text) for text in arguments[arguments.index(b"--") + 1:]], variables))

    def _run(self, arguments: list[str], variables: dict[bytes, bytes]) -> int:
        """Calls the function. Returns the exit code of the process."""
        code = 1
        try:
            os.chdir(self._folder)
            os.environ.clear()
            os.environb.update(variables)
            tempfile.tempdir = None
            sys.argv = arguments[2:]  # without `python3 -m`
            trial.__init__()  # type: ignore[misc]
            _forget_endings()
            self._set_threads()
            _renew_random_numbers()
            code = run_trial.call(self._function, sys.argv[2:])
        except SystemExit as end:
            code = _exit_code(end)
        except BaseException:
            traceback.print_exc()
        for ending in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
            try:
                ending()
            except BaseException:
                traceback.print_exc()
        _flush()
        return code

    def _set_threads(self) -> None:
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        for setter, variable in self._setters:
            setter(_first_number(os.environ.get(variable, threads)))
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(_first_number(threads))


def _first_number(text: str) -> int:
    """OMP_NUM_THREADS may be a list, with a number for each level."""
    return int(text.split(",")[0])


def _forget_endings() -> None:
    """What the import has registered for its end is for the server alone: a temporary folder of the module must outlive trials."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    atexit._clear()
    atexit.register(weakref.finalize._exitfunc)  # type: ignore[attr-defined]
    for module, name in (("logging", "shutdown"), ("multiprocessing.util", "_exit_function")):
        if module in sys.modules:
            atexit.register(getattr(sys.modules[module], name))


def _flush() -> None:
    _libc.fflush(None)  # text that libraries have printed
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # the function has closed or replaced it
            pass


def _write_mark(address: int, mark: bytes) -> None:
    """Has /proc show the trial's mark in place of the server's, so that what the trial leaves is found."""
    ctypes.memmove(address, mark, len(mark))


def _renew_random_numbers() -> None:
    """Has the global generators of NumPy and torch differ from trial to trial, as in processes of their own."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _take_channel() -> socket.socket:
    """Moves the channel away from the numbers of a launcher's descriptors, which stay taken."""
    channel = socket.socket(fileno=fcntl.fcntl(_CHANNEL, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE))
    with open(os.devnull, "rb") as null:
        place = fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    for number in range(_CHANNEL, _FIRST_FREE):
        os.dup2(place, number, inheritable=False)
    os.close(place)
    return channel


def main() -> None:
    _libc.getenv.restype = ctypes.c_void_p
    mark = _libc.getenv(_MARK.encode())
    channel = _take_channel()
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    trial.is_known = False
    try:
        function = _load(sys.argv[1])
    except _Refused as reason:
        channel.send(f"refused {reason}".encode())
        sys.exit(1)
    server = _Server(channel, function, mark)
    gc.collect()
    gc.freeze()
    server.serve()


if __name__ == "__main__":
    main()
