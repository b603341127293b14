"""Where a process may not have many addresses, the virtual GPU reserves less, and says so where it is too little."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.virtual.machine.memory import addresses

LAUNCH = """
import resource, sys
import numpy as np
import gridstride as gs
from gridstride.virtual.machine import engine
module = gs.cuda('extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }')
engine.prepare()
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20),) * 2)
x = np.ones(32, np.float32)
gpu = gs.VirtualGPU(sanitize=sys.argv[2] == "sanitize", workers=1, memory=eval(sys.argv[3]))
with gs.use(gpu):
    module["twice"][1, 32](x)
print(x.sum(), gpu.memory >> 20)
"""


def launch(mib: int, *, sanitize: bool = False, memory: int | None = None) -> subprocess.CompletedProcess[str]:
    """A launch in a process that may reserve so many MiB more than it has when everything is imported."""
    words = [str(mib), "sanitize" if sanitize else "plain", repr(memory)]
    return subprocess.run([sys.executable, "-c", LAUNCH, *words], capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitize"])
@pytest.mark.parametrize("mib", [2000, 4000, 16000])
def test_a_launch_runs_in_what_a_limit_leaves(mib: int, sanitize: bool) -> None:
    done = launch(mib, sanitize=sanitize)
    assert (done.returncode, done.stderr) == (0, "")
    total, memory = done.stdout.split()
    assert float(total) == 64.0
    assert 64 <= int(memory) < mib


def test_too_small_a_limit_is_one_message_that_names_it() -> None:
    said = launch(100).stderr.splitlines()[-1]
    assert "addresses cannot be reserved for the virtual GPU: this process may have" in said
    assert "(ulimit -v " in said
    assert "OutOfAddressSpace" in said


def test_memory_that_was_asked_for_is_not_made_less() -> None:
    assert "OutOfAddressSpace: 10,304 MiB of addresses" in launch(4000, memory=8 << 30).stderr


def test_half_of_what_there_is_stays_for_others() -> None:
    assert addresses.affordable(1 << 20, least=1 << 10) == 1 << 20
    assert addresses.affordable(1 << 60, least=1 << 20) < 1 << 47
    assert addresses.affordable(1 << 60, least=1 << 59) == 1 << 59
    assert addresses.affordable(1 << 50, least=1 << 20, times=8) * 4 == addresses.affordable(1 << 50, least=1 << 20)


def test_a_limit_that_leaves_more_than_is_needed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_AS: 1 << 40, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], limits[which]))
    assert addresses.limit(below=1 << 41).startswith("this process may have 1,048,576 MiB of them in all (ulimit -v ")
    assert "(ulimit -v " in addresses.limit()
    assert "ulimit" not in addresses.limit(below=1 << 40)


def test_a_system_that_reserves_strictly_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    file = tmp_path / "overcommit_memory"
    file.write_text("2\n")
    monkeypatch.setattr(addresses, "_OVERCOMMIT", file)
    assert "sysctl vm.overcommit_memory=0" in addresses.limit()
    file.write_text("0\n")
    assert addresses.limit() == ""
