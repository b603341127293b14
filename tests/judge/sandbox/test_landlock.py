"""What a worker cannot do, whatever version of Landlock the kernel offers, with a mount namespace and without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import Expectation
from gridstride.judge.sandbox import landlock
from gridstride.judge.sandbox.client import Worker
from gridstride.judge.sandbox.limits import WorkerLimits
from gridstride.judge.sandbox.python_header import parse_python
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.sandbox.wire import WireMessage
from gridstride.judge.submission import check

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())
FOLDER = Path(__file__).parents[1] / "hostile"
WRITTEN = "/tmp/gridstride_hostile_victim"  # as the hostile files have it
VICTIM = Path(f"{WRITTEN}_{os.getpid()}")  # another worker of pytest has its own
VICTIM_TEXT = "precious"
NEED_TRITON = ("leaves_threads", "searches_memory")  # which are not about what the system allows


def _expected(path: Path) -> Expectation | None:
    return parse_python(path.read_text(), filename=str(path)).kernel.expect


REFUSED = [p for p in sorted(FOLDER.glob("*.py")) if str(_expected(p)) == "pass" and p.stem not in NEED_TRITON]


@pytest.fixture(scope="module", autouse=True)
def _victim() -> Iterator[None]:
    VICTIM.write_text(VICTIM_TEXT)
    yield
    VICTIM.unlink(missing_ok=True)


@pytest.fixture(scope="module", params=range(1, landlock.version() + 1), ids=lambda version: f"landlock{version}")
def alone(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A worker without a mount namespace, on a kernel that has no newer Landlock than this."""
    with _probe(landlock=request.param, namespace=False) as worker:
        worker.wait_until_ready()
        assert worker.locked["landlock"] == request.param
        assert not worker.locked["namespace"]
        yield worker


@pytest.fixture(scope="module")
def apart() -> Iterator[Worker]:
    """A worker in a mount namespace."""
    with _probe() as worker:
        worker.wait_until_ready()
        if not worker.locked["namespace"]:
            pytest.skip("this system gives a user no namespaces")
        yield worker


def _probe(**given: object) -> Worker:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    try:
        return Worker(WorkerLimits(), module="probe_worker", cache=False, **given)
    finally:
        del sys.path[0]


def hostile(path: Path) -> str:
    """Its source, aimed at our victim."""
    return path.read_text().replace(WRITTEN, str(VICTIM))


def run(worker: Worker, source: str) -> str:
    return str(worker.ask(WireMessage({"run": source}), seconds=20, doing="running").words["said"])


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_landlock_of_any_version_and_the_filter_hold(alone: Worker, path: Path) -> None:
    assert run(alone, hostile(path)) == ""
    assert VICTIM.read_text() == VICTIM_TEXT


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_the_namespace_holds(apart: Worker, path: Path) -> None:
    assert run(apart, hostile(path)) == ""
    assert VICTIM.read_text() == VICTIM_TEXT


SEES = """
import os
import subprocess
seen = [p for p in {paths!r} if os.path.lexists(p) or os.access(p, os.F_OK)]
if seen: raise SystemExit(f"GOT THROUGH: {{seen}}")
"""


def test_in_the_namespace_other_files_are_not_even_there(apart: Worker) -> None:
    here = [str(VICTIM), "/etc/passwd", "/etc/hostname", "/proc/1/stat", "/proc/self/maps", "/sys/class", "/dev/shm",
            __file__, os.getcwd() + "/pyproject.toml", os.path.expanduser("~/.bashrc"), sys.executable]  # fmt: skip
    assert run(apart, SEES.format(paths=here)) == ""


def test_what_the_folder_may_hold_is_a_bound_of_the_system_in_the_namespace() -> None:
    with _probe() as worker:
        worker.wait_until_ready()
        if not worker.locked["namespace"]:
            pytest.skip("this system gives a user no namespaces")
        fills = """
import os
import subprocess
total = 0
try:
    for number in range(20):
        with open(f"{os.environ['TMPDIR']}/{number}", "wb", buffering=0) as file:
            for _ in range(15): total += file.write(bytes(16 << 20))
except OSError as error:
    raise SystemExit(f"{total >> 20} {error.strerror}")
"""
        limit = WorkerLimits().scratch >> 20
        said = run(worker, fills).removeprefix("SystemExit: ").split(" ", 1)
        assert said[1] == "No space left on device"
        assert limit - 32 <= int(said[0]) <= limit


@pytest.mark.parametrize("name", ["triton_vector_add", "numba_vector_add"])
def test_an_honest_submission_passes_on_the_oldest_landlock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(name.partition("_")[0])
    start = Worker.__init__

    def start_as_of_old(self: Worker, limits: WorkerLimits, **given: Any) -> None:
        start(self, limits, **given, landlock=1, namespace=False)

    monkeypatch.setattr(Worker, "__init__", start_as_of_old)
    path = Path(__file__).parents[1] / "correct" / f"{name}.py"
    assert check(path, find("vector_add"), device=gs.VirtualGPU(), seed=3).findings == ()


def test_a_worker_with_a_thread_that_is_not_locked_in_says_that_nothing_holds() -> None:
    with _probe(thread=True) as worker:
        worker.wait_until_ready()
        assert worker.locked == {"landlock": 0, "seccomp": False, "namespace": False}


def test_the_libraries_of_numba_are_loaded_before_the_room_is_locked() -> None:
    """Where they lie outside the environment, Numba asks a program for them, and in the room none can be started."""
    pytest.importorskip("numba.cuda")
    asks = """
from gridstride.judge.sandbox.python_worker import _warm_up
_warm_up("numba", "sm_90")
from pathlib import Path
from numba.cuda.cudadrv import nvvm
loaded = Path("/proc/self/maps").read_text()
print(*(name in loaded for name in ("libnvvm", "libnvrtc")), nvvm.LibDevice._cache_ is not None)
"""
    said = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, timeout=120, check=True)
    assert said.stdout.split() == ["True", "True", "True"]
