"""A pytest plugin: every launch on a virtual GPU is under the sanitizer, and what it finds is noted, test by test.

Loaded by bench/false_alarms.py, in every worker of pytest-xdist too; notes go to the file GRIDSTRIDE_ALARMS, a line of
JSON for each test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from typing import Any

import pytest

import gridstride as gs
from gridstride.virtual.launch import observed_launch

_seen: dict[str, Any] = {"launches": 0, "found": []}
_observe = observed_launch.observe


def _counted(*given: Any, **named: Any) -> Any:
    seen = _observe(*given, **named)
    _seen["launches"] += 1
    _seen["found"] += [f"{each.kind}: {each.message}"[:300] for each in seen.findings]
    return seen


def pytest_configure() -> None:
    """From now on there is no virtual GPU without the sanitizer."""
    gs.VirtualGPU.sanitize = property(lambda self: True, lambda self, value: None)  # type: ignore[assignment]
    observed_launch.observe = _counted


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """One line a test, when it has run."""
    report = yield
    if call.when == "call":
        error = call.excinfo.value if call.excinfo is not None else None
        alarm = isinstance(error, gs.KernelFault)
        line = {"test": item.nodeid, "outcome": report.outcome, "alarm": alarm, **_seen,
                "error": None if error is None else f"{type(error).__name__}: {error}"[:400]}  # fmt: skip
        with open(os.environ["GRIDSTRIDE_ALARMS"], "a", encoding="utf-8") as notes:
            notes.write(json.dumps(line) + "\n")
        _seen.update(launches=0, found=[])
    return report
