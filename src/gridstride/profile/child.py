"""The process in which the program runs under the PyTorch profiler. Nothing of GridStride but this and the sampler.

What the parent finds in the folder: `state` (running, stopping, done, measuring, done), `trace.json`, `outcome.json`.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
import types
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from gridstride.profile.sampler import StackSampler

_EVENTS = 200_000  # of a recording: each costs its reader 0.1 ms and 4 KB, and 0.4 KB of file
_GROWTH = 96 << 20  # bytes by which the process grows before events are counted: 200,000 take 110 MB, tensors more
_PATIENCE = 60.0  # seconds that a program may take until its loop is seen
_TURN = signal.SIGRTMAX - 3  # how the sampler asks the main thread to begin or to stop recording
_PAGE = os.sysconf("SC_PAGE_SIZE")
_DEATH = 1  # PR_SET_PDEATHSIG of sys/prctl.h


class WindowOver(SystemExit):
    """Ends the program once enough has been recorded."""


class WindowRecorder:
    """Begins and ends the recording, in the main thread as the profiler needs it, when the time has come."""

    def __init__(self, folder: Path, after: float, seconds: float) -> None:
        import torch
        from torch.profiler import ProfilerActivity, profile

        self.folder, self._after, self._seconds = folder, after, seconds
        cuda = [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
        self._make = partial(profile, activities=[ProfilerActivity.CPU, *cuda], record_shapes=True)
        self._profile, self._begin_profile = self._make(), profile.start  # which the program may not call, later on
        self._pid = os.getpid()
        self._sampler = StackSampler(self._tick)
        self._requested = False
        self._growth, self._base = _GROWTH, 0
        self.cut: dict[str, Any] | None = None
        self.state = "waiting"
        self._over = False  # the window
        self.started = self._began = time.monotonic()

    def begin(self) -> None:
        """The program starts now."""
        _refuse_another_profiler()
        signal.signal(_TURN, self._turn)
        signal.siginterrupt(_TURN, False)
        self.started = self._began = time.monotonic()
        if self._after <= 0:
            self._start()
        self._sampler.start()
        write(self.folder / "state", "running")

    def end(self) -> None:
        """Keep what was recorded; nothing where that has been done, or in a process that the program forked."""
        if self.state == "recording" and os.getpid() == self._pid:
            self._keep()

    def _start(self) -> None:
        self._begin_profile(self._profile)
        self._began, self._base = time.monotonic(), resident()
        self._sampler.keep = True
        self.state = "recording"

    def _count(self) -> bool:
        """Whether the limit of events has been reached, as the process has grown so much; else it is recorded anew.

        Nothing tells the number of events but their end. What was recorded until then is let go: it is the program's
        loading, or the first steps, in which it takes its memory.
        """
        seconds = time.monotonic() - self._began
        self._profile.stop()
        profiler = self._profile.profiler
        events = (
            len(profiler.kineto_results.events()) if profiler is not None and profiler.kineto_results is not None else 0
        )
        if events >= _EVENTS / 2:
            self.cut = {"events": events, "seconds": seconds, "asked": self._seconds}
            return True
        self._growth *= 2
        self._profile = self._make()
        self._sampler.samples.clear()
        self._start()
        return False

    def _keep(self) -> None:
        self.state = "over"
        self._sampler.stop()
        write(self.folder / "state", "stopping")
        if self.cut is None:
            self._profile.stop()
        path = self.folder / "trace.json"
        self._profile.export_chrome_trace(str(path))
        add_samples(path, self._sampler)

    def _tick(self) -> None:
        """In the sampler's thread: asks for a turn when it is time."""
        if not self._requested and self._due():
            self._requested = True
            signal.pthread_kill(threading.main_thread().ident or 0, _TURN)

    def _due(self) -> bool:
        now = time.monotonic()
        if self.state == "waiting":
            return now - self.started >= self._after
        if self.state == "recording" and resident() - self._base > self._growth:
            return True
        loop = self._sampler.loop_seen
        begun = max(loop, self._began) if loop is not None else self._began + _PATIENCE
        self._over = self.state == "recording" and now - begun >= self._seconds
        return self._over

    def _turn(self, *_: object) -> None:
        if os.getpid() != self._pid:
            return
        if self.state == "waiting":
            self._start()
            self._requested = False
        elif self.state == "recording":
            if not self._over and not self._count():
                self._requested = False
                return
            self._keep()
            finish(self.folder, {"end": "stopped"})
            raise WindowOver(0)


def main(request: str) -> None:
    """Run the program that the request describes: script or module, arguments, folder, after, seconds."""
    orders = json.loads(request)
    ctypes.CDLL(None).prctl(_DEATH, signal.SIGKILL)  # when the parent is killed, this is too
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its start and stop are no news
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # else a program that forks could not use its GPU
    try:
        recorder = WindowRecorder(Path(orders["folder"]), orders["after"], orders["seconds"])
    except KeyboardInterrupt:  # nothing of the program has run
        sys.exit(130)
    pid = os.getpid()
    outcome = _run(orders, recorder)
    if os.getpid() != pid:
        _leave_fork(outcome["code"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    recorder.end()
    outcome |= {"recorded": recorder.state == "over", "seconds": time.monotonic() - recorder.started}
    if recorder.state == "over":
        write(recorder.folder / "state", "measuring")
        add_notes(recorder.folder / "trace.json", recorder.cut)
    finish(recorder.folder, outcome)
    sys.exit(outcome["code"])


def _run(orders: dict[str, Any], recorder: WindowRecorder) -> dict[str, Any]:
    """The program from beginning to end, whatever the end is."""
    try:
        _execute(orders, recorder)
    except WindowOver:
        return {"end": "stopped", "code": 0, "said": ""}
    except SystemExit as exit_request:
        return _exit_record(exit_request)
    except KeyboardInterrupt:
        return {"end": "interrupted", "code": 130, "said": ""}
    except BaseException as error:
        _show(error)
        message = traceback.format_exception_only(error)[-1].strip()
        return {"end": "raised", "code": 1, "said": message}
    return {"end": "finished", "code": 0, "said": ""}


def _leave_fork(code: int) -> NoReturn:
    """The end of a process that the program forked: the profiler that it inherited cannot be taken down there."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _refuse_another_profiler() -> None:
    """Two profilers at a time end the process without a word, so that the second must be told."""
    import torch

    def refuse(*_: object) -> NoReturn:
        raise RuntimeError(
            "this program starts a profiler of its own, and `gridstride profile` records it already: run it without, "
            "or export its trace (export_chrome_trace) and give that to `gridstride profile trace.json`"
        )

    torch.profiler.profile.start = refuse
    torch.autograd.profiler.profile.__enter__ = refuse


def _execute(orders: dict[str, Any], recorder: WindowRecorder) -> None:
    """As Python itself would run it, so that pickling, spawned workers and relative files work."""
    target = orders["program"]
    sys.argv[:] = [target, *orders["args"]]
    if orders["module"]:
        sys.path[0] = os.getcwd()
        recorder.begin()
        runpy.run_module(target, run_name="__main__", alter_sys=True)
        return
    sys.path[0] = str(Path(target).resolve().parent)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=target, __builtins__=__builtins__, __spec__=None)
    code = compile(Path(target).read_bytes(), target, "exec")
    sys.modules["__main__"] = module
    recorder.begin()
    exec(code, module.__dict__)


def _exit_record(exit_request: SystemExit) -> dict[str, Any]:
    if isinstance(exit_request.code, int | None):
        code = exit_request.code or 0
        return {"end": "finished" if code == 0 else "exited", "code": code, "said": f"exit code {code}"}
    print(exit_request.code, file=sys.stderr)
    return {"end": "exited", "code": 1, "said": str(exit_request.code)}


def _show(error: BaseException) -> None:
    """The program's own traceback, without the frames that are ours or of the import system."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def add_samples(path: Path, sampler: StackSampler) -> None:
    """Puts the sampler's notes behind the events that the profiler wrote."""
    with path.open("r+b") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        at = file.tell()
        tail = file.read()
        end = tail.rindex(b"]")
        base = _base(path)
        events = (json.dumps(_event(sample, base), separators=(",", ":")) for sample in sampler.samples)
        file.seek(at + end)
        file.write("".join(f",\n{event}" for event in events).encode() + b"\n" + tail[end:])
        file.truncate()


def _event(sample: tuple[int, tuple[str, ...]], base: int) -> dict[str, Any]:
    at, lines = sample
    return {"ph": "i", "s": "t", "cat": "python_sample", "name": lines[0], "pid": os.getpid(), "tid": os.getpid(),
            "ts": (at - base) / 1e3, "args": {"stack": lines[1:]}}  # fmt: skip


def _base(path: Path) -> int:
    """What the file's times count from: nanoseconds of the system's clock."""
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.read(1 << 16)
    _, key, after_key = head.partition('"baseTimeNanoseconds":')
    return int(after_key.partition(",")[0]) if key else 0


def add_notes(path: Path, cut: dict[str, Any] | None) -> None:
    """Puts into the trace what this machine can do, so that it can be judged elsewhere, and what was cut off."""
    notes = {name: value for name, value in (("cpu", rates(path)), ("cut", cut)) if value}
    if not notes:
        return
    with path.open("r+b") as file:
        file.seek(max(0, path.stat().st_size - 64))
        at = file.tell()
        tail = file.read()
        end = tail.rindex(b"}")
        file.seek(at + end)
        file.write(b',"gridstride": ' + json.dumps(notes).encode() + b"}\n")
        file.truncate()


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def rates(path: Path) -> dict[str, Any]:
    """What this CPU does with as many threads as the program had, for the element types that the trace speaks of."""
    import mmap

    import torch

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        if text.find(b'"cat": "kernel"') >= 0:
            return {}  # a GPU did the work
        types = {"float": torch.float32, "double": torch.float64, "c10::BFloat16": torch.bfloat16}
        present = [name for name in types if text.find(f'"{name}"'.encode()) >= 0]
    source = torch.empty(1 << 24).fill_(1.0)  # 64 MiB
    target = torch.empty_like(source)
    with torch.no_grad():
        moved = 2 * source.nbytes / _best(lambda: target.copy_(source))
        flops = {name: _product_rate(types[name]) for name in present}
    return {"threads": torch.get_num_threads(), "bytes_per_s": moved, "flops": flops}


def _product_rate(dtype: Any) -> float:
    import torch

    n = 768
    a, b = torch.rand(n, n).to(dtype), torch.rand(n, n).to(dtype)
    return 2 * n**3 / _best(lambda: torch.mm(a, b))


def _best(call: Any, times: int = 5) -> float:
    """Seconds of the fastest of some calls: the limit, not what a busy machine makes of it."""
    call()
    candidates = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        candidates.append(time.perf_counter() - start)
    return min(candidates)


def finish(folder: Path, outcome: dict[str, Any]) -> None:
    """Tells the parent how it ended."""
    write(folder / "outcome.json", json.dumps(outcome))
    write(folder / "state", "done")


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    aside = path.with_suffix(".part")
    aside.write_text(text)
    aside.replace(path)
