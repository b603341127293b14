"""Streams and events as users have them, on both machines."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gridstride as gs
from gridstride.device.streams import as_stream

ADD = "__global__ void add(float *x, float a) { x[threadIdx.x] += a; }"
WAIT = """__global__ void wait(long long ticks, int *done) {
    long long start = clock64();
    while (clock64() - start < ticks) {}
    *done += 1;
}"""


def test_a_launch_and_copies_in_a_stream(machine):
    add, s = gs.cuda(ADD)["add"], gs.stream()
    d = gs.to_device(np.zeros(32, np.float32), stream=s)
    add.launch(grid=1, block=32, args=(d, 1.0), stream=s)
    host = np.empty(32, np.float32)
    d.copy_to(host, stream=s)
    s.synchronize()
    assert s.done
    assert (host == 1).all()


def test_launches_and_copies_inside_with_go_to_the_stream(machine):
    add, s = gs.cuda(ADD)["add"], gs.stream(priority=-1)
    with s as entered:
        assert entered is s
        d = gs.to_device(np.zeros(32, np.float32))
        add[1, 32](d, 2.0)
        assert (d.numpy() == 2).all()
    s.synchronize()


def test_a_numpy_argument_holds_the_result_when_the_launch_returns(machine):
    x, s = np.zeros(32, np.float32), gs.stream()
    gs.cuda(ADD)["add"].launch(grid=1, block=32, args=(x, 3.0), stream=s)
    assert (x == 3).all()
    with s:
        gs.cuda(ADD)["add"][1, 32](x, 3.0)
    assert (x == 6).all()


def test_a_stream_waits_for_the_event_of_another(machine):
    add, first, second = gs.cuda(ADD)["add"], gs.stream(), gs.stream()
    d = gs.to_device(np.zeros(32, np.float32))
    with first:
        add[1, 32](d, 1.0)
        event = first.record()
    second.wait(event)
    with second:
        add[1, 32](d, 1.0)
        assert (d.numpy() == 2).all()
    assert event.done


def test_an_event_marks_and_measures(machine):
    s, begin, end = gs.stream(), gs.event(), gs.event()
    d = gs.to_device(np.zeros(32, np.float32))
    begin.record(s)
    gs.cuda(ADD)["add"].launch(grid=1, block=32, args=(d, 1.0), stream=s)
    assert end.record(s) is end
    end.synchronize()
    assert end.done
    assert 0 <= end.elapsed(begin) < 60_000
    assert end.elapsed(end) == 0


def test_an_event_without_a_stream_marks_the_current_one(machine):
    with gs.stream() as s:
        event = gs.event(timing=False).record()
    s.synchronize()
    assert event.done


def test_with_uses_the_streams_device_and_nests(virtual):
    other = gs.VirtualGPU("a100", workers=1)
    outer, inner = gs.stream(device=virtual), gs.stream(device=other)
    with gs.use(virtual):
        with inner:
            assert gs.device() is other
            with outer, outer:
                assert gs.device() is virtual
            assert gs.empty(4).device is other
        assert gs.device() is virtual


def test_with_holds_for_its_own_thread(machine):
    from gridstride.device.current import current_stream

    seen = []
    with gs.stream() as s:
        assert current_stream(machine) is s.queue
        thread = threading.Thread(target=lambda: seen.append(current_stream(machine)))
        thread.start()
        thread.join()
    assert seen == [None]
    assert current_stream(machine) is None


def test_an_error_inside_with_leaves_the_stream(machine):
    from gridstride.device.current import current_stream

    with pytest.raises(RuntimeError, match="mine"), gs.stream():
        raise RuntimeError("mine")
    assert current_stream(machine) is None


@pytest.mark.parametrize("priority", [1, -100])
def test_a_priority_that_there_is_not(machine, priority):
    with pytest.raises(ValueError, match=rf"stream: priority = {priority}: .* has 0 \(least\) to -\d+ \(goes first\)"):
        gs.stream(priority)


def test_a_priority_that_is_no_number(machine):
    with pytest.raises(TypeError, match="stream: priority = 'high' is not a whole number"):
        gs.stream("high")


def test_an_event_that_was_never_recorded(machine):
    event = gs.event()
    for use in (gs.stream().wait, lambda e: e.synchronize(), lambda e: e.done, gs.event().record().elapsed):
        with pytest.raises(gs.DeviceError, match=r"was never recorded: event.record\(stream\), or event = stream.rec"):
            use(event)


def test_an_event_without_times(machine):
    begin = gs.event(timing=False).record()
    with pytest.raises(gs.DeviceError, match=r"was made without times: gs.event\(timing=True\)"):
        gs.event().record().elapsed(begin)


def test_what_is_no_event(machine):
    with pytest.raises(TypeError, match=r"waits for events, 3 is none: other.record\(\)"):
        gs.stream().wait(3)
    with pytest.raises(TypeError, match=r"elapsed\(since\): 0 is no event"):
        gs.event().record().elapsed(0)


def test_what_is_no_stream(machine):
    d = gs.empty(4)
    with pytest.raises(gs.LaunchError, match=r"stream='s' is not a stream: use gs.stream\(\)"):
        gs.to_device(np.zeros(4), stream="s")
    with pytest.raises(gs.LaunchError, match="stream='s' is not a stream"):
        d.copy_from(np.zeros(4, np.float32), stream="s")
    with pytest.raises(gs.LaunchError, match="is not a stream"):
        gs.event().record("s")


def test_another_devices_stream_is_refused(virtual):
    other = gs.VirtualGPU(workers=1)
    s, event = gs.stream(device=other), gs.event(device=other).record()
    with gs.use(virtual):
        x = np.zeros(32, np.float32)
        with pytest.raises(gs.LaunchError, match="is of another virtual h200, the work is on virtual h200: `with"):
            gs.cuda(ADD)["add"].launch(grid=1, block=32, args=(x, 1.0), stream=s)
        with pytest.raises(gs.DeviceError, match="they are of two devices"):
            gs.stream().wait(event)
        with pytest.raises(gs.DeviceError, match="they are of two devices"):
            gs.event().record().elapsed(event)


def test_a_number_is_a_physical_gpus_stream(virtual):
    with pytest.raises(gs.LaunchError, match="stream=7 belongs to a physical GPU, and the work is on virtual h200"):
        as_stream(virtual, 7)


def test_only_a_physical_stream_shows_itself_to_others(virtual):
    s = gs.stream(device=virtual)
    assert not hasattr(s, "__cuda_stream__")
    assert repr(s) == f"<stream {s.handle:#x} of virtual h200>"
    assert repr(gs.event(device=virtual)) == "<event of virtual h200>"


def test_streams_are_told_apart(machine):
    assert gs.stream().handle != gs.stream().handle


# Only where work is outstanding


@pytest.mark.gpu
def test_a_launch_returns_before_the_kernel_has_run(gpu):
    with gs.use(gpu):
        done, s, wait = gs.to_device(np.zeros(1, np.int32)), gs.stream(), gs.cuda(WAIT)["wait"]
        wait[1, 1](1, done)
        begin = s.record()
        wait.launch(grid=1, block=1, args=(50_000_000, done), stream=s)
        end = s.record()
        assert not s.done
        assert not end.done
        s.synchronize()
        assert s.done
        assert 1.0 < end.elapsed(begin) < 1000.0


@pytest.mark.gpu
def test_launches_inside_with_do_not_wait_for_other_streams(gpu):
    with gs.use(gpu):
        done, first, second, wait = gs.to_device(np.zeros(2, np.int32)), gs.stream(), gs.stream(), gs.cuda(WAIT)["wait"]
        wait[1, 1](1, done)
        gpu.synchronize()
        with first:
            wait[1, 1](200_000_000, done[:1])
        with second:
            wait[1, 1](1, done[1:])
        second.synchronize()
        assert not first.done
        first.synchronize()
        assert done.numpy().tolist() == [2, 1]


@pytest.mark.gpu
def test_torch_works_in_a_stream_of_ours(gpu):
    torch = pytest.importorskip("torch")
    with gs.use(gpu), gs.stream() as s:
        assert s.__cuda_stream__() == (0, s.handle)
        tensor = torch.zeros(32, device="cuda")
        torch.cuda.synchronize()
        gs.cuda(ADD)["add"][1, 32](tensor, 1.0)
        with torch.cuda.stream(torch.cuda.ExternalStream(s.handle)):
            tensor += 1
        s.synchronize()
        assert (tensor == 2).all()
