"""What all tests share: a cache of their own, what is skipped (slow tests, GPU tests), who is slow."""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "commands"))  # command_line.py

SLOW = 20.0
"""Seconds of processor time, its fixtures' included, above which a test is to be marked slow."""

_BEGAN = pytest.StashKey[float]()

_SLOW_UNTIL = pytest.StashKey[float]()
_NOT_REACHED = "not reached:"

# Each of pytest's processes has a core: PyTorch's and NumPy's threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What is tested finds signals as in a terminal, though a shell's background job (`make test &`) begins without Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("patient", deadline=None)  # a busy machine is slow, which is no fault of the code
settings.load_profile("patient")


def _why_no_gpu() -> str | None:
    """None where the CUDA driver finds a GPU, else the reason in words."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver on this machine (libcuda.so.1 not found)"
    count = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return f"the CUDA driver does not start (error {status})"
    return None if count.value else "the CUDA driver finds no GPU"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run tests that are marked slow, too, behind all others")
    parser.addoption(
        "--slow-minutes",
        type=float,
        default=math.inf,
        metavar="N",
        help="with --slow: begin no slow test later than N minutes after the first test, and say how many were left",
    )


def _behind_the_first(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Those that `first_of` makes slow: alone each is quick, but there are hundreds."""
    seen = set()
    for item in items:
        for mark in item.iter_markers("first_of"):
            key = (item.nodeid.partition("[")[0], id(item.callspec.params[mark.args[0]]))  # type: ignore[attr-defined]
            if key in seen:
                yield item
            seen.add(key)


def _turn(item: pytest.Item, run: str) -> str:
    """Slow tests come last, so that time is short for them alone; their files in another order with each run, so that
    none is left time after time.
    """
    return hashlib.sha256(f"{run} {item.path.name}".encode()).hexdigest()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in _behind_the_first(items):
        item.add_marker(pytest.mark.slow)
    slow = [item for item in items if item.get_closest_marker("slow")]
    behind = set(slow)
    for item in (item for item in slow if not item.get_closest_marker("timeout")):
        item.add_marker(pytest.mark.timeout(600))  # a busy machine, or an emulated one, takes its time
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = _why_no_gpu() if marked else None
    for item in marked if reason else []:
        item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))
    run = getattr(config, "workerinput", {}).get("testrunuid", "")  # the same for all workers of a run
    items.sort(key=lambda item: _turn(item, run) if item in behind else "")
    config.stash[_SLOW_UNTIL] = time.monotonic() + 60 * config.getoption("--slow-minutes")
    if not config.getoption("--slow"):
        reason = f"takes over {SLOW:.0f} s of processor time, or is one of many: `make test SLOW=1` (--slow) runs it"
        for item in slow:
            item.add_marker(pytest.mark.skip(reason=reason))


def _processor_seconds() -> float:
    """Of this process and of those it started and has waited for."""
    return sum(os.times()[:4])


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() > item.config.stash[_SLOW_UNTIL] and item.get_closest_marker("slow"):
        minutes = item.config.getoption("--slow-minutes")
        pytest.skip(f"{_NOT_REACHED} {minutes:g} minutes had passed before this slow test")
    item.stash[_BEGAN] = _processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.when == "teardown" and _BEGAN in item.stash:
        item.user_properties.append(("processor_seconds", _processor_seconds() - item.stash[_BEGAN]))
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names the tests that should be marked slow and are not: each makes `make test` longer for everybody.

    Says how many slow ones were left, too, where their minutes had passed.
    """
    for report in terminalreporter.getreports(""):
        seconds = dict(report.user_properties).get("processor_seconds", 0.0)
        if report.when == "teardown" and seconds > SLOW and "slow" not in report.keywords:
            terminalreporter.line(f"{report.nodeid} took {seconds:.0f} s of processor time: mark it slow")
    left = sum(_NOT_REACHED in str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    if left:
        terminalreporter.line(f"{left} slow tests were not reached: their minutes (--slow-minutes) had passed")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for the whole run, shared by its workers, so that no test sees what an earlier run compiled."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDSTRIDE_CACHE", str(shared / "cache"))
        yield
