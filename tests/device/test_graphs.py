"""Graphs: what is taken down, what runs when they are launched, and what is refused."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import gridstride as gs

SOURCE = """
__global__ void add(float *x, float a) { x[threadIdx.x] += a; }
__global__ void times(const float *x, float *y, float a) { y[threadIdx.x] = x[threadIdx.x] * a; }
"""


@pytest.fixture
def module(machine):
    return gs.cuda(SOURCE)


def test_launches_run_when_the_graph_is_launched_and_each_time(module):
    x, y = gs.zeros(32), gs.zeros(32)
    with gs.capture() as graph:
        module["add"][1, 32](x, 1.0)
        module["times"].launch(grid=1, block=32, args=(x, y, 10.0))
    assert not x.numpy().any()
    for count in (1, 2, 3):
        graph.launch()
        assert (x.numpy() == count).all()
        assert (y.numpy() == 10 * count).all()
    assert repr(graph).startswith("<graph of 2 operations on ")


def test_copies_are_taken_down_with_the_memory_not_its_values(module):
    given, taken = gs.pinned(32), gs.pinned(32)
    with gs.capture() as graph:
        d = gs.to_device(given)
        copy = gs.to_device(d)
        module["add"][1, 32](copy, 1.0)
        copy.copy_to(taken)
        d.copy_from(copy)
    given[:] = 5
    s = gs.stream()
    graph.launch(s)
    s.synchronize()
    assert (taken == 6).all()
    assert (d.numpy() == 6).all()
    given[:] = 7
    with s:
        graph.launch()
    s.synchronize()
    assert (taken == 8).all()
    assert len(graph) == 5


def test_pinned_and_managed_arrays_are_arguments(machine, module):
    x, y = gs.pinned(32), gs.managed(32)
    with gs.capture() as graph:
        module["times"][1, 32](x, y, 2.0)
    x[:] = 3
    graph.launch()
    machine.synchronize()
    assert (y == 6).all()


def test_a_kernel_may_be_compiled_inside(machine):
    x = gs.zeros(32)
    with gs.capture() as graph:
        gs.cuda("__global__ void first(float *x) { x[threadIdx.x] = 9; }")["first"][1, 32](x)
    graph.launch()
    assert (x.numpy() == 9).all()


def test_a_graph_keeps_what_it_uses(module):
    x = gs.zeros(32)
    with gs.capture() as graph:
        module["add"][1, 32](x, 1.0)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is not None
    graph.launch()
    gs.device().synchronize()
    del graph
    gc.collect()
    assert seen() is None


def test_what_goes_out_of_use_meanwhile_is_given_back(machine, module):
    x = gs.zeros(32)
    with gs.capture() as graph:
        gs.empty(1000)
        module["add"][1, 32](x, 1.0)
        gc.collect()
    graph.launch()
    assert (x.numpy() == 1).all()


def test_an_empty_graph(machine):
    with gs.capture() as graph:
        pass
    graph.launch()
    assert len(graph) == 0


def test_numpy_arguments_are_refused_by_name(module):
    with (
        pytest.raises(gs.LaunchError, match=r"times: x is in host memory, and gs.capture\(\) cannot .* gs.pinned"),
        gs.capture(),
    ):
        module["times"][1, 32](np.zeros(32, np.float32), gs.empty(32), 1.0)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda d: d.numpy(), r"d.numpy\(\) cannot be captured: the values are there once graph.launch\(\) has run"),
        (lambda d: d[0].item(), r"d.numpy\(\) cannot be captured"),
        (lambda d: d.copy_from(np.zeros(32, np.float32)), r"a copy of float32\[32\] in ordinary host memory cannot be"),
        (lambda d: d.copy_to(np.zeros(32, np.float32)), r"a copy of float32\[32\] in ordinary host memory cannot be"),
        (lambda d: gs.zeros(4), r"a copy of float32\[4\] in ordinary host memory .* keep it in gs.pinned\(shape"),
        (lambda d: gs.pinned(4), "gs.pinned cannot be captured: make it before the capture"),
        (lambda d: gs.event().record(), "an event cannot be captured: record it in front"),
        (lambda d: gs.stream().__enter__(), r"`with <stream .*>:` cannot be captured: leave it out, graph"),
        (lambda d: gs.capture().__enter__(), "another capture cannot be captured: end the first one"),
        (lambda d: d.copy_from(gs.pinned_before, stream=gs.stream()), r"stream=.* in gs.capture\(\): leave it out"),
    ],
)  # fmt: skip
def test_what_cannot_be_captured(machine, monkeypatch, work, message):
    monkeypatch.setattr(gs, "pinned_before", gs.pinned(32), raising=False)
    d = gs.zeros(32)
    with pytest.raises(gs.DeviceError, match=message), gs.capture():
        work(d)
    assert not d.numpy().any()


def test_a_stream_in_a_launch_is_refused(module):
    with (
        pytest.raises(gs.LaunchError, match=r"add: stream=… in gs.capture\(\): graph.launch\(stream\) says where"),
        gs.capture(),
    ):
        module["add"].launch(grid=1, block=32, args=(gs.empty(32), 1.0), stream=gs.stream())


def test_other_mistakes_are_found_while_capturing(module):
    with pytest.raises(gs.LaunchError, match="add takes 2 arguments"), gs.capture():
        module["add"][1, 32](gs.empty(32))


def test_a_graph_is_launched_behind_its_capture(module):
    x = gs.zeros(32)
    with (
        pytest.raises(gs.DeviceError, match=r"is still captured: launch it behind its `with gs.capture\(\)`"),
        gs.capture() as graph,
    ):
        graph.launch()
    with pytest.raises(gs.DeviceError, match="was given up, an exception ended its capture"):
        graph.launch()
    with gs.capture() as graph:
        module["add"][1, 32](x, 1.0)
    graph.launch()
    assert (x.numpy() == 1).all()
    with pytest.raises(gs.DeviceError, match=r"graph.launch\(\) cannot be captured"), gs.capture():
        graph.launch()


def test_work_on_another_device_is_refused(virtual):
    other = gs.VirtualGPU(workers=1)
    with gs.use(virtual):
        d = gs.zeros(32, device=other)
        with (
            pytest.raises(
                gs.DeviceError, match=r"gs.capture\(\) takes work on virtual h200, and this is work on virtual"
            ),
            gs.capture(),
            gs.use(other),
        ):
            d.copy_from(d)
        with gs.capture() as graph:
            pass
        with pytest.raises(gs.LaunchError, match="is of another virtual h200"):
            graph.launch(gs.stream(device=other))


def test_observe_is_refused(virtual):
    with gs.use(virtual):
        add, x = gs.cuda(SOURCE)["add"], gs.zeros(32)
        with pytest.raises(gs.DeviceError, match=r"add\.observe cannot be captured: observe it outside"), gs.capture():
            add.observe(1, 32)(x, 1.0)


def test_a_fault_is_told_when_the_graph_is_launched(virtual):
    with gs.use(virtual):
        x = gs.zeros(16)
        with gs.capture() as graph:
            gs.cuda(SOURCE)["add"][1, 32](x, 1.0)
        with pytest.raises(gs.KernelFault, match="past the end"):
            graph.launch()


def test_other_threads_are_not_captured(module):
    import threading

    x, y = gs.zeros(32), gs.zeros(32)
    device = gs.device()

    def work():
        with gs.use(device), gs.stream() as s:
            module["add"][1, 32](y, 1.0)
            s.synchronize()

    with gs.capture() as graph:
        module["add"][1, 32](x, 1.0)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert (y.numpy() == 1).all()
    assert not x.numpy().any()
    graph.launch()
    assert (x.numpy() == 1).all()


# Only on hardware


@pytest.mark.gpu
def test_cuda_tensors_of_a_graph_count_their_versions(gpu):
    torch = pytest.importorskip("torch")
    with gs.use(gpu):
        x = torch.zeros(32, device="cuda")
        with gs.capture() as graph:
            gs.cuda(SOURCE)["add"][1, 32](x, 1.0)
        before = x._version
        graph.launch()
        assert x._version == before + 1
        assert (x == 1).all()


@pytest.mark.gpu
def test_waiting_for_the_device_is_refused(gpu):
    with gs.use(gpu), pytest.raises(gs.DeviceError, match=r"device.synchronize\(\) cannot be captured"), gs.capture():
        gpu.synchronize()


@pytest.mark.gpu
def test_memory_that_goes_out_of_use_is_freed_behind_the_capture(gpu):
    with gs.use(gpu):
        d = gs.zeros(1000)
        with gs.capture():
            del d
            gc.collect()
            assert gpu._abandoned
        assert not gpu._abandoned
