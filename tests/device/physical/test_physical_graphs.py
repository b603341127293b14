"""What the driver is called with for streams, pinned memory and graphs, and in which order; no GPU is needed."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

import gridstride as gs
from gridstride.device.physical import driver, physical_graphs, physical_streams
from gridstride.device.physical import physical_gpu as physical

names = pytest.importorskip("cuda.bindings.driver")
OURS, CAPTURING, CONTEXT = 0x700, 0x800, 0x1000


class FakeDriver:
    """Takes every call down; memory is the host's own."""

    CUstreamCaptureMode = names.CUstreamCaptureMode
    CUmemAttach_flags = names.CUmemAttach_flags
    CUevent_flags = names.CUevent_flags
    CUresult = names.CUresult
    CU_MEMHOSTALLOC_PORTABLE = names.CU_MEMHOSTALLOC_PORTABLE
    CU_MEMHOSTALLOC_DEVICEMAP = names.CU_MEMHOSTALLOC_DEVICEMAP

    def __init__(self):
        self.calls, self.memory, self.fails = [], [], {}

    def __getattr__(self, name):
        assert hasattr(names, name), f"cuda.bindings.driver has no {name}"
        return lambda *operands: self._called(name, operands)

    def _called(self, name, operands):
        self.calls.append((name, *map(int, operands)))
        if name in self.fails:
            return (self.fails[name],)
        if name in ("cuMemAlloc", "cuMemHostAlloc", "cuMemAllocManaged"):
            self.memory.append(ctypes.create_string_buffer(operands[0]))
            return (0, ctypes.addressof(self.memory[-1]))
        given = {"cuStreamEndCapture": 0xE0, "cuGraphInstantiate": 0xE1, "cuEventCreate": 0xE2}
        if name == "cuCtxGetStreamPriorityRange":
            return (0, 0, -5)
        return (0, given[name]) if name in given else (0,)

    def names(self):
        """Of the calls since this was asked last."""
        calls, self.calls = self.calls, []
        return [name for name, *_ in calls]


@pytest.fixture
def fake_driver(monkeypatch):
    fake = FakeDriver()
    for module in (physical, physical_graphs, physical_streams, driver):
        monkeypatch.setattr(module, "bindings", lambda: fake)
    monkeypatch.setattr(physical, "current_context", lambda: CONTEXT)
    return fake


@pytest.fixture
def gpu(fake_driver):
    """A physical GPU over the fake driver, in use."""
    device = object.__new__(gs.PhysicalGPU)
    device.ordinal, device._lost, device._context_address = 0, None, CONTEXT
    device.captures, device._abandoned = set(), []
    device.name, device.properties = "fake GPU", SimpleNamespace(total_memory=1 << 30)

    def create_stream(options):
        return SimpleNamespace(handle=CAPTURING if options["nonblocking"] else OURS + options["priority"])

    device._core = SimpleNamespace(create_stream=create_stream)
    with gs.use(device):
        yield device
    device._lost = "the test is over"  # what lives longer has nothing to give back


@pytest.fixture
def array(gpu, fake_driver):
    made = gs.empty(8)
    fake_driver.names()
    return made


def test_ordinary_copies_are_waited_for_and_pinned_ones_in_a_stream_only_begin(fake_driver, array):
    ordinary, pinned = np.zeros(8, np.float32), gs.pinned(8)
    assert fake_driver.calls.pop() == ("cuMemHostAlloc", 32, 3)
    s = gs.stream(-2)
    fake_driver.names()
    array.copy_from(pinned)
    assert [(name, operands[-1]) for name, *operands in fake_driver.calls] == [
        ("cuMemcpyHtoDAsync", 0),
        ("cuStreamSynchronize", 0),
    ]
    fake_driver.names()
    array.copy_from(ordinary, stream=s)
    assert fake_driver.names() == ["cuMemcpyHtoDAsync", "cuStreamSynchronize"]
    with s:
        array.copy_from(pinned[:])
        array.copy_to(pinned)
        array[:4].copy_from(array[4:])
    assert [(name, operands[-1]) for name, *operands in fake_driver.calls] == [
        ("cuMemcpyHtoDAsync", OURS - 2),
        ("cuMemcpyDtoHAsync", OURS - 2),
        ("cuMemcpyDtoDAsync", OURS - 2),
    ]


def test_pinned_memory_is_freed_behind_all_work(fake_driver, gpu):
    pinned = gs.pinned(8)
    fake_driver.names()
    del pinned
    assert fake_driver.names() == ["cuCtxSynchronize", "cuMemFreeHost"]
    managed = gs.managed(8)
    assert fake_driver.calls.pop() == ("cuMemAllocManaged", 32, 1)
    del managed
    assert fake_driver.names() == ["cuMemFree"]


def test_a_capture_takes_copies_down_and_makes_a_graph_once(fake_driver, array):
    pinned = gs.pinned(8)
    fake_driver.names()
    with gs.capture() as graph:
        array.copy_from(pinned)
    assert fake_driver.calls == [
        ("cuStreamBeginCapture", CAPTURING, 2),
        ("cuMemcpyHtoDAsync", array.address, pinned.ctypes.data, 32, CAPTURING),
        ("cuStreamEndCapture", CAPTURING),
        ("cuGraphInstantiate", 0xE0, 0),
        ("cuGraphDestroy", 0xE0),
    ]
    fake_driver.names()
    graph.launch()
    with gs.stream() as s:
        graph.launch()
    graph.launch(s)
    launches = [call for call in fake_driver.calls if call[0] == "cuGraphLaunch"]
    assert launches == [("cuGraphLaunch", 0xE1, 0), ("cuGraphLaunch", 0xE1, OURS), ("cuGraphLaunch", 0xE1, OURS)]
    fake_driver.names()
    del graph
    assert fake_driver.names() == ["cuGraphExecDestroy"]


def test_nothing_is_freed_while_a_stream_captures(fake_driver, gpu):
    before = gs.empty(4)
    with gs.capture():
        del before
        gs.empty(4)
        assert "cuMemFree" not in fake_driver.names()
    assert fake_driver.names().count("cuMemFree") == 2
    assert not gpu.captures


def test_an_exception_ends_the_capture(fake_driver, gpu):
    with pytest.raises(RuntimeError, match="mine"), gs.capture():
        raise RuntimeError("mine")
    assert fake_driver.names() == ["cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphDestroy"]
    assert not gpu.captures


@pytest.mark.parametrize("call", ["cuStreamEndCapture", "cuGraphInstantiate"])
def test_a_graph_that_the_driver_refuses(fake_driver, gpu, monkeypatch, call):
    fake_driver.fails[call] = 901
    monkeypatch.setattr(driver, "_describe", lambda code: ("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "invalidated"))
    with (
        pytest.raises(gs.DeviceError, match=r"while .*: invalidated \(CUDA_ERROR_STREAM_CAPTURE"),
        gs.capture() as graph,
    ):
        pass
    with pytest.raises(gs.DeviceError, match="could not be made"):
        graph.launch()
    assert not gpu.captures


def test_waiting_for_the_device_is_refused_while_a_stream_captures(gpu):
    with pytest.raises(gs.DeviceError, match=r"device.synchronize\(\) cannot be captured"), gs.capture():
        gpu.synchronize()


def test_a_stream_that_is_not_done_and_events(fake_driver, gpu):
    s = gs.stream()
    fake_driver.fails["cuStreamQuery"] = 600
    assert not s.done
    del fake_driver.fails["cuStreamQuery"]
    assert s.done
    fake_driver.names()
    event = gs.event(timing=False).record(s)
    gs.stream().wait(event)
    assert fake_driver.calls[0] == ("cuEventCreate", 2)
    assert fake_driver.calls[1] == ("cuEventRecord", 0xE2, OURS)
    assert fake_driver.calls[-1] == ("cuStreamWaitEvent", OURS, 0xE2, 0)


@pytest.mark.parametrize(
    ("taker", "waits"), [(None, False), (1, False), (-1, False), (2, True), (0x900, True)], ids=str
)
def test_who_takes_an_array_waits_for_the_stream_that_works_on_it(fake_driver, array, taker, waits):
    assert array.__dlpack_device__() == (2, 0)
    array.__dlpack__(stream=taker)
    assert ("cuStreamWaitEvent" in fake_driver.names()) == waits
    with gs.stream():
        array.__dlpack__(stream=OURS)
        assert "cuStreamWaitEvent" not in fake_driver.names()
        array.__dlpack__(stream=None)
        assert ("cuStreamWaitEvent", 1, 0xE2, 0) in fake_driver.calls


def test_an_arrays_capsule_says_where_it_is(array):
    from gridstride.device.dlpack import tensor_in

    tensor = tensor_in(array[2:].__dlpack__(max_version=(1, 0)))
    assert (tensor.data, tensor.device_type, tensor.device_id) == (array.address + 8, 2, 0)
    assert (tensor.ndim, tensor.shape[0], tensor.code, tensor.bits, tensor.lanes) == (1, 6, 2, 32, 1)
    bits = tensor_in(array.view("bfloat16").__dlpack__())
    assert (bits.code, bits.bits, bits.shape[0]) == (4, 16, 16)
