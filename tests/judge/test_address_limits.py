"""Where a user's limit leaves too few addresses there is no verdict, and a right kernel is never called wrong."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.judge.find import find

RIGHT = find("vector_add").path / "rungs" / "01_scalar.cu"


def check(mib: int, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return within(mib, "check", str(file), "--problem", "vector_add", "--device", "virtual", *options)


def within(mib: int, *words: str) -> subprocess.CompletedProcess[str]:
    """`gridstride …` in a process that may have so many MiB of addresses, as with `ulimit -v`."""
    return subprocess.run(
        [sys.executable, "-m", "gridstride", *words],
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20,) * 2),
    )


@pytest.mark.parametrize("options", [(), ("--no-sandbox",)], ids=["sandbox", "no-sandbox"])
def test_a_right_kernel_passes_in_what_a_limit_leaves(options: tuple[str, ...]) -> None:
    done = check(15_000, RIGHT, "--json", *options)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "pass")


@pytest.mark.parametrize("options", [(), ("--no-sandbox",)], ids=["sandbox", "no-sandbox"])
@pytest.mark.parametrize("mib", [300, 390, 500, 600, 700])
def test_too_few_addresses_are_one_message_and_no_verdict(mib: int, options: tuple[str, ...]) -> None:
    done = check(mib, RIGHT, *options)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert f"this process may have {mib:,} MiB of them in all (ulimit -v {mib << 10})" in line
    assert "Traceback" not in done.stderr
    assert "llvmlite" not in done.stderr


def test_a_ladder_is_climbed_in_what_a_limit_leaves() -> None:
    done = within(15_000, "climb", "saxpy", "--device", "virtual", "--json")
    assert done.returncode == 0, done.stderr
    assert all(each["verdict"] == "pass" for each in json.loads(done.stdout)["rungs"])


def test_a_wrong_kernel_is_still_wrong_in_what_a_limit_leaves(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cu"
    wrong.write_text(RIGHT.read_text().replace(" + ", " - "))
    done = check(15_000, wrong, "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "fail")
