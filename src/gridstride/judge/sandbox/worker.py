"""What runs in the worker: it locks itself in, then compiles kernels and runs them, one request after the other.

It is started by `client.py`, with the limits as JSON in its first argument; requests come on standard input, replies
leave on the descriptor named there. It never learns what is right.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import gc
import json
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gridstride.judge.sandbox import landlock, namespace, records, run_records, seccomp
from gridstride.judge.sandbox.limits import WorkerLimits, cramped, restrict
from gridstride.judge.sandbox.scratch import MOST_FILES
from gridstride.judge.sandbox.wire import WireMessage, packed, read
from gridstride.protocol import OutOfAddressSpace, RacesNotWatched

_LEAST_MEMORY = 256 << 20  # bytes of the virtual GPU's, below which a problem's own cases might not fit
_YOUNG = (20_000, 10, 10)  # objects before rubbish is looked for: a launch makes hundreds, of which none are in a ring
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def main() -> None:
    """Lock the room, say so, and serve until the parent hangs up."""
    options = json.loads(sys.argv[1])
    faulthandler.disable()
    die_with_parent(options["parent"])
    replies = os.fdopen(options["replies"], "wb", buffering=0)
    room = JudgeSession(options)
    room.warm_up()
    gc.freeze()
    gc.set_threshold(*_YOUNG)
    gc.enable()
    say(replies, WireMessage({"ready": lock(options)}))
    requests = os.fdopen(0, "rb", buffering=1 << 16, closefd=False)
    while (request := read(requests.read)) is not None:
        reply = room.answer(request)
        sys.stdout.flush()
        say(replies, reply)


def die_with_parent(parent: int) -> None:
    """Never outlive the judge, and let nobody look into this process."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if os.getppid() != parent:  # it went before we could ask
        os._exit(1)


def lock(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give everything up that is not needed; says what the kernel could do about it.

    A thread that a library has started before is not locked in with this one: nothing holds then.
    """
    single_threaded = len(os.listdir("/proc/self/task")) == 1
    limits, folders = WorkerLimits(**options["limits"]), options["folders"]
    filtered = seccomp.available()  # asks the file system, so before that is given up
    restrict(limits)
    tempfile.tempdir = options["scratch"]  # asked for, it would try out whether a file can be removed there
    paths = [path for path, _ in folders if path != options["scratch"]]
    inside = options.get("namespace", True) and namespace.enter(
        paths, options["scratch"], nbytes=limits.scratch, inodes=MOST_FILES
    )
    die_with_parent(options["parent"])  # again: the kernel forgets it with the namespace
    namespace.drop_capabilities()
    rules = [(path, rights) for path, rights in folders]
    if inside:  # what is there may be listed, as imports do
        rules += [(path, landlock.READ_DIR) for path in sys.path if path]
    have = landlock.lock(rules, at_most=options.get("landlock"))
    if filtered:
        seccomp.lock()
    return {
        "landlock": have if single_threaded else 0,
        "seccomp": filtered and single_threaded,
        "namespace": bool(inside),
    }


def say(replies: Any, message: WireMessage) -> None:
    """Send a message, however long."""
    data = memoryview(packed(message))
    while data:
        data = data[replies.write(data) :]


class JudgeSession:
    """One virtual GPU and the kernel that is being judged."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._gpu: Any = None
        self._kernel: Any = None
        self._cramped = False

    def warm_up(self) -> None:
        """Load what cannot be loaded once the room is locked, and what takes long."""
        from gridstride.compiler.bindings import load
        from gridstride.judge.execution import attempt, blame, runnable  # noqa: F401
        from gridstride.virtual.gpu import VirtualGPU
        from gridstride.virtual.machine import engine
        from gridstride.virtual.machine.memory.addresses import affordable

        if self._options.get("compiler", "nvrtc") == "nvrtc":
            load()
        engine.prepare()
        limits = WorkerLimits(**self._options["limits"])
        self._cramped = bool(cramped(limits))
        warnings.simplefilter("error", RacesNotWatched)
        self._gpu = VirtualGPU(
            self._options["chip"],
            memory=affordable(limits.device_memory, least=_LEAST_MEMORY),
            time_limit=limits.launch_seconds,
            workers=self._options["workers"],
        )

    def answer(self, request: WireMessage) -> WireMessage:
        """The reply to one request; whatever goes wrong within is a reply too."""
        does: dict[str, Callable[[WireMessage], WireMessage]] = {
            "build": self._build,
            "build_ptx": self._build_ptx,
            "refusal": lambda request: WireMessage({"refusal": self._kernel.refusal(request.words["sizes"])}),
            "attempt": self._attempt,
            "observe": self._observe,
            "blame": self._blame,
            "accesses": self._accesses,
            "way": self._way,
        }
        try:
            return does[request.words["do"]](request)
        except RacesNotWatched as error:  # a verdict would say that there are none
            return WireMessage({"unable": str(error)})
        except Exception as error:
            gc.collect()
            if isinstance(error, OutOfAddressSpace) and self._cramped:
                return WireMessage({"unable": str(error)})
            if isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM:
                return WireMessage(
                    {"error": "out of memory"}
                )  # of ours, or of a library: the parent says so, and its verdict is no pass
            return WireMessage({"error": f"{type(error).__name__}: {error}"})

    def _build(self, request: WireMessage) -> WireMessage:
        from gridstride.judge.execution.runnable import RefusedError, build_for
        from gridstride.judge.header import KernelFile

        words = request.words
        self._kernel = None
        gc.collect()
        file = KernelFile(words["name"], words["filename"], words["source"], "", words["entry"], None, None)
        signature = records.signature_of(words["signature"])
        try:
            launch = records.launch_of(words["launch"])
            arch = self._gpu.properties.arch
            compiled = records.compiled_of(request.buffers[0], words, arch) if request.buffers else None
            self._kernel = build_for(signature, file, launch, self._gpu, compiled)
        except RefusedError as refused:
            return WireMessage({"refused": records.finding_words(refused.finding)})
        return WireMessage({"built": True, "facts": records.facts_words(self._kernel.facts)})

    def _build_ptx(self, request: WireMessage) -> WireMessage:
        from gridstride.judge.execution.runnable import RefusedError
        from gridstride.judge.sandbox.ptx_kernel import build_ptx

        self._kernel = None
        gc.collect()
        try:
            self._kernel = build_ptx(request.words, records.launch_of(request.words["launch"]), self._gpu)
        except RefusedError as refused:
            return WireMessage({"refused": records.finding_words(refused.finding)})
        return WireMessage({"built": True, "facts": records.facts_words(self._kernel.facts)})

    def _attempt(self, request: WireMessage) -> WireMessage:
        signature, case = self._case(request)
        inputs = _inputs(request.words["numbers"], request.buffers)
        done = self._kernel.attempt(signature, case, inputs)
        reply = _replied([records.finding_words(f) for f in done.findings], done.results)
        reply.words["path"] = records.path_words(done.path)
        return reply

    def _observe(self, request: WireMessage) -> WireMessage:
        signature, case = self._case(request)
        (inputs,) = _inputs(request.words["numbers"], request.buffers)
        done = self._kernel.observed(signature, case, inputs)
        findings = [records.finding_words(f) for f in done.findings]
        reply = _replied(findings, [done.results] if done.results is not None else [])
        if done.run is not None:
            entry = self._entry()
            reply.words["run"] = run_records.run_words(done.run, entry)
        return reply

    def _blame(self, request: WireMessage) -> WireMessage:
        signature, case = self._case(request)
        inputs, masks = _inputs(request.words["numbers"], request.buffers)
        blamed = self._kernel.blame(signature, case, inputs, request.words["name"], masks["wrong"], masks["unwritten"])
        return WireMessage({"blame": records.blame_words(blamed)})

    def _accesses(self, request: WireMessage) -> WireMessage:
        signature, case = self._case(request)
        (inputs,) = _inputs(request.words["numbers"], request.buffers)
        accesses = self._kernel.accesses(signature, case, inputs, request.words["lines"])
        return WireMessage({"accesses": [records.access_words(access) for access in accesses]})

    def _way(self, request: WireMessage) -> WireMessage:
        signature, case = self._case(request)
        (inputs,) = _inputs(request.words["numbers"], request.buffers)
        steps = self._kernel.way_of_a_warp(signature, case, inputs)
        return WireMessage({"way": [records.step_words(step) for step in steps]})

    def _entry(self) -> Any:
        """The virtual GPU's own kernel."""
        from gridstride.device.choice import use

        with use(self._gpu):
            return self._kernel.kernel.bound().kernel

    def _case(self, request: WireMessage) -> Any:
        return records.signature_of(request.words["signature"]), records.case_of(request.words["case"])


def _inputs(numbers: list[dict[str, Any]], buffers: Any) -> list[dict[str, Any]]:
    """Each input's values: numbers as they are, arrays from [place among the buffers, dtype, shape]."""
    return [{name: _value(arrays, buffers) for name, arrays in values.items()} for values in numbers]


def _value(value: Any, buffers: Any) -> Any:
    if not isinstance(value, list):
        return value
    number, dtype, shape = value
    return np.frombuffer(buffers[number], dtype).reshape(shape)


def _replied(findings: list[Any], results: Any) -> WireMessage:
    return WireMessage({"findings": findings, "runs": len(results)}, [v.tobytes() for r in results for v in r.values()])


if __name__ == "__main__":
    main()
