"""What all tests share: a cache of their own, and GPU tests skipped where there is no GPU."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = _why_no_gpu() if marked else None
    for item in marked if reason else []:
        item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for the whole run, shared by its workers, so that no test sees what an earlier run compiled."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDSTRIDE_CACHE", str(shared / "cache"))
        yield
