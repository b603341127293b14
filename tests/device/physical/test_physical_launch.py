"""A launch's bytes, read by the driver's own structures as cuda.bindings has them; no GPU is needed."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from gridstride.device.physical import physical_launch
from gridstride.device.physical.physical_launch import Frame, attributes
from gridstride.protocol import ParameterLayout, Shape

driver: Any = pytest.importorskip("cuda.bindings.driver")
FUNCTION, STREAM = 0x1234560, 0x789ABC0
PARAMETERS = (ParameterLayout(0, 8, 8, "u64"), ParameterLayout(8, 4, 4, "u32"), ParameterLayout(16, 8, 8, "f64"))


class Taken(NamedTuple):
    """What the driver was given, as it reads it."""

    config: Any
    function: int
    parameters: list[bytes]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Taken]:
    calls: list[Taken] = []

    def launch(config: Any, function: Any, table: Any, extra: Any) -> int:
        assert extra is None
        pointers = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
        parameters = [ctypes.string_at(pointers[n] or 0, each.size) for n, each in enumerate(PARAMETERS)]
        calls.append(Taken(driver.CUlaunchConfig(_ptr=config.value), function.value, parameters))
        return 7

    monkeypatch.setattr(physical_launch, "bindings", lambda: driver)
    monkeypatch.setattr(physical_launch, "library", lambda: SimpleNamespace(cuLaunchKernelEx=launch))
    attributes.cache_clear()
    return calls


@pytest.fixture
def frame(taken: list[Taken]) -> Frame:
    return Frame(PARAMETERS)


def launched(frame: Frame, taken: list[Taken], shape: Shape) -> Taken:
    """The frame must live for as long as what is taken is read."""
    more = attributes(shape.cooperative, shape.dependent, shape.cluster)
    packed = bytes(range(1, 25)) if PARAMETERS else b""
    assert frame.launch(ctypes.c_void_p(FUNCTION), shape, packed, STREAM, more) == 7
    return taken.pop()


def test_the_driver_reads_the_shape_the_stream_and_each_parameter(frame: Frame, taken: list[Taken]) -> None:
    got = launched(frame, taken, Shape((4, 5, 6), (64, 2, 3), 1024))
    config = got.config
    assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (4, 5, 6)
    assert (config.blockDimX, config.blockDimY, config.blockDimZ) == (64, 2, 3)
    assert (config.sharedMemBytes, int(config.hStream), config.numAttrs) == (1024, STREAM, 0)
    assert got.function == FUNCTION
    assert got.parameters == [bytes(range(1, 9)), bytes(range(9, 13)), bytes(range(17, 25))]


def test_what_a_launch_asks_for_becomes_the_drivers_attributes(frame: Frame, taken: list[Taken]) -> None:
    asked = launched(frame, taken, Shape((4, 1, 1), (64, 1, 1), 0, cooperative=True, dependent=True, cluster=(2, 1, 1)))
    more = attributes(True, True, (2, 1, 1))
    assert asked.config.numAttrs == more.length == 3
    size = ctypes.sizeof(more.array) // 3
    one, two, three = (driver.CUlaunchAttribute(_ptr=more.address + number * size) for number in range(3))
    assert one.id.name == "CU_LAUNCH_ATTRIBUTE_COOPERATIVE"
    assert one.value.cooperative == 1
    assert two.id.name == "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"
    assert two.value.programmaticStreamSerializationAllowed == 1
    assert three.id.name == "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION"
    assert (three.value.clusterDim.x, three.value.clusterDim.y, three.value.clusterDim.z) == (2, 1, 1)


def test_a_kernel_without_parameters_is_launched_too(taken: list[Taken]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{__name__}.PARAMETERS", ())
        frame = Frame(())
        assert launched(frame, taken, Shape((1, 1, 1), (1, 1, 1))).parameters == []
