"""Reductions, norms, sorts and scans against NumPy in both builds; each missing synchronisation is found."""

from __future__ import annotations

import pytest
from reduction_cases import CASES
from suite import MACHINES, Case, Twin, check, check_twin, each, each_twin, machine_of

machine = pytest.fixture(params=MACHINES)(lambda request: (yield from machine_of(request.param)))


@each(CASES)
def test_the_result_is_right(machine: str, case: Case) -> None:
    """The observed build has nothing to say."""
    check(case)


@each_twin(CASES)
def test_the_sanitizer_finds(case: Case, twin: Twin) -> None:
    for _ in machine_of("observed"):
        check_twin(case, twin)
