"""Which finding is which error code, and what cudaDeviceGetAttribute answers."""

from __future__ import annotations

import pytest

from gridstride.programs.calls.device_attributes import attributes
from gridstride.programs.calls.status import Status, fault_status
from gridstride.virtual.abi.finding_kinds import KINDS
from gridstride.virtual.chips import chip, names
from gridstride.virtual.findings.finding import KernelFinding


def test_every_finding_that_ends_a_kernel_has_an_error_code() -> None:
    ends = [name for name, kind in KINDS.items() if "ends" in kind.source]
    assert [name for name in ends if fault_status(KernelFinding(name, "", "k")) is None] == []


def test_a_race_is_nothing_that_hardware_sees() -> None:
    assert fault_status(KernelFinding("race", "", "k")) is None


def test_codes_are_those_of_the_runtimes_header() -> None:
    runtime = pytest.importorskip("cuda.bindings.runtime")
    known = {int(each): each.name for each in runtime.cudaError_t}
    assert known[Status.ILLEGAL_ADDRESS] == "cudaErrorIllegalAddress"
    assert known[Status.LAUNCH_FAILURE] == "cudaErrorLaunchFailure"
    assert {int(each) for each in Status} <= set(known)


@pytest.mark.parametrize("name", names())
def test_attributes_are_the_chips(name: str) -> None:
    model = chip(name)
    known = attributes(model)
    assert (known[75], known[76]) == model.properties.compute_capability
    assert known[16] == model.properties.multiprocessors
    assert all(isinstance(value, int) for value in known.values())
