"""The pytest plugin: a test that takes the fixture `gpu` runs its kernels under the sanitizer and fails on any finding.

pytest loads this file at every start where GridStride is installed, so what it needs is imported when it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gridstride.protocol import Device
    from gridstride.virtual.findings.finding import KernelFault

PACKAGE = str(Path(__file__).parent.parent)
MARK = "virtual_gpu(**options): options of gridstride.VirtualGPU for the fixture `gpu` of this test, such as chip_name"
CHIP = "The chip that the fixture `gpu` is (see `gridstride chips`)"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gridstride", "GPU tests, with or without a GPU")
    group.addoption("--gpu", choices=("virtual", "physical"), default="virtual", help="What the fixture `gpu` gives.")
    group.addoption("--gpu-chip", metavar="CHIP", help=f"{CHIP}; overrides the ini option gpu_chip.")
    parser.addini("gpu_chip", CHIP, default="h200")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)


@pytest.fixture
def gpu(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A GPU in use for one test: a virtual one under the sanitizer, or with --gpu=physical the machine's own.

    It is in use in every thread of the test. A launch that the sanitizer finds something in raises KernelFault. What
    `kernel.observe` found, which does not raise, and what was raised in another thread than the test's, where nobody
    may look, is kept in `gpu.faults` and fails the test at its end unless the test clears that.
    """
    from gridstride.device.choice import use_in_every_thread

    if request.config.getoption("gpu") == "physical":
        yield from _physical()
        return
    device = _virtual(request)
    device.home = threading.current_thread()
    with use_in_every_thread(device):
        yield device
    if device.faults:
        pytest.fail("\n".join(_shown(fault) for fault in device.faults), pytrace=False)


def _shown(fault: KernelFault) -> str:
    where = "found by kernel.observe:" if fault.__traceback__ is None else "raised in another thread:"
    return "\n".join([where, str(fault), *getattr(fault, "__notes__", [])])


def _physical() -> Iterator[Device]:
    import gridstride as gs
    from gridstride.device.choice import use_in_every_thread

    try:
        device = gs.PhysicalGPU()
    except gs.NoDevice as error:
        pytest.skip(f"--gpu=physical: {error}")
    with use_in_every_thread(device):
        yield device
        device.synchronize()


def _virtual(request: pytest.FixtureRequest) -> Any:
    import gridstride as gs

    chip = request.config.getoption("gpu_chip") or request.config.getini("gpu_chip")
    mark = request.node.get_closest_marker("virtual_gpu")
    options = {"sanitize": True, **(mark.kwargs if mark else {})}
    arguments = mark.args if mark and mark.args else (options.pop("chip_name", chip),)
    try:
        return gs.VirtualGPU(*arguments, **options)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"the fixture `gpu` of {request.node.nodeid}: {error}") from None


# -- what a failure shows ----------------------------------------------------------------------------------------------
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure ends at the test's own line and the kernel's, not somewhere between the two."""
    error = call.excinfo.value if call.excinfo is not None else None
    if error is not None and type(error).__module__.startswith("gridstride."):
        error.__traceback__ = without_ours(error.__traceback__)
        call.excinfo = pytest.ExceptionInfo.from_exception(error)
    return (yield)


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback up to where it enters this package; as it is where it begins there."""
    if trace is None or trace.tb_next is None:
        return trace
    if trace.tb_next.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return TracebackType(None, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return TracebackType(without_ours(trace.tb_next), trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
