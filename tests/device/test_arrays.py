"""Arrays on a device, and the choice of device."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import gridstride as gs
from gridstride.device import choice
from gridstride.device.physical import driver
from gridstride.device.physical.driver import newest_ptx


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.complex64, bool, "f2"])
def test_to_device_and_back(fake, dtype):
    host = np.arange(24).reshape(2, 3, 4).astype(dtype)
    array = gs.to_device(host)
    assert (array.shape, array.dtype, array.nbytes) == (host.shape, host.dtype, host.nbytes)
    assert (array.strides, array.size, array.ndim, len(array)) == (host.strides, 24, 3, 2)
    np.testing.assert_array_equal(array.numpy(), host)


def test_a_strided_array_arrives_contiguous(fake):
    host = np.arange(12.0).reshape(3, 4).T[::2]
    np.testing.assert_array_equal(gs.to_device(host).numpy(), host)


def test_arrays_without_elements_or_dimensions(fake):
    assert gs.to_device(np.empty((0, 3))).numpy().shape == (0, 3)
    assert gs.to_device(np.float64(3)).numpy() == 3.0
    assert not gs.empty((4, 0)).address
    with pytest.raises(TypeError, match="has no length"):
        len(gs.to_device(1.0))


def test_numpy_functions_take_a_device_array(fake):
    assert np.asarray(gs.to_device([1, 2, 3])).sum() == 6
    assert np.asarray(gs.to_device([1, 2, 3]), dtype=np.float32).dtype == np.float32


def test_copy_from_wants_the_same_shape_and_dtype(fake):
    array = gs.empty((2, 3), np.float32)
    assert array.copy_from(np.ones((2, 3), np.float32)).numpy().sum() == 6
    with pytest.raises(ValueError, match=r"float64\[2, 3\] given, float32\[2, 3\] needed"):
        array.copy_from(np.ones((2, 3)))


@pytest.mark.parametrize("host", [np.array([None]), np.ones(2, ">f4"), np.array(["a"]), np.zeros(2, "M8[s]")])
def test_what_a_kernel_cannot_read_is_refused(fake, host):
    with pytest.raises(ValueError, match="cannot go to a device"):
        gs.to_device(host)


def test_a_negative_shape_is_refused(fake):
    with pytest.raises(ValueError, match=r"shape \(2, -1\) has a negative dimension"):
        gs.empty((2, -1))


def test_only_a_physical_array_shows_its_address_to_others(fake):
    array = gs.empty(4)
    assert not hasattr(array, "__cuda_array_interface__")
    fake.kind = "physical"
    assert array.__cuda_array_interface__["data"] == (array.address, False)


def test_repr_tells_dtype_shape_and_device(fake):
    assert repr(gs.empty((2, 3))) == "DeviceArray(float32[2, 3] on fake)"


def test_failing_to_copy_in_frees_the_memory(fake):
    def broken(*_):
        raise gs.DeviceError("broken")

    fake.copy_in = broken
    with pytest.raises(gs.DeviceError):
        gs.to_device(np.ones(4))
    assert not fake.live


# Choice


def test_use_nests_and_ends(fake, second_fake):
    assert gs.device() is fake
    with gs.use(second_fake) as inner:
        assert gs.device() is inner is second_fake
    assert gs.device() is fake


def test_use_without_with_holds_from_there_on_and_no_longer_than_the_with_around_it(fake, second_fake):
    with gs.use(fake):
        gs.use(second_fake)
        assert gs.device() is second_fake
    assert gs.device() is fake


def test_a_device_that_there_is_not_is_refused_without_with_too(fake):
    with pytest.raises(ValueError, match=r"device='gtx' is not a device: .* or a chip: a100"):
        gs.use("gtx")
    assert gs.device() is fake


def test_use_holds_for_its_own_thread(fake, monkeypatch):
    monkeypatch.setattr(choice, "_default", lambda name: "the default")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(gs.device()))
    thread.start()
    thread.join()
    assert seen == ["the default"]


def test_a_device_given_outright_wins(fake, second_fake):
    assert gs.device(second_fake) is second_fake
    assert gs.empty(4, device=second_fake).device is second_fake


def test_a_wrong_name_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="device='gpu' is not a device: use physical or virtual"):
        gs.device("gpu")
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "cuda")
    with pytest.raises(ValueError, match="GRIDSTRIDE_DEVICE='cuda' is not a device: use physical or virtual"):
        gs.device()


@pytest.mark.parametrize(("count", "expected"), [(0, "virtual"), (2, "physical")])
def test_a_physical_gpu_is_preferred_where_there_is_one(monkeypatch, count, expected):
    monkeypatch.delenv("GRIDSTRIDE_DEVICE", raising=False)
    monkeypatch.setattr(choice, "physical_count", lambda: count)
    monkeypatch.setattr(choice, "_by_name", lambda name, where: name)
    choice._default.cache_clear()
    assert gs.device() == expected
    choice._default.cache_clear()


def test_no_driver_is_said_plainly(monkeypatch):
    monkeypatch.setattr(driver, "driver_present", lambda: False)
    driver.bindings.cache_clear()
    with pytest.raises(gs.NoDevice, match=r"no NVIDIA driver.*GRIDSTRIDE_DEVICE=virtual"):
        gs.PhysicalGPU(0)
    driver.bindings.cache_clear()


@pytest.mark.parametrize(
    ("cuda", "ptx"),
    [
        (11080, (7, 8)),
        (12000, (8, 0)),
        (12050, (8, 5)),
        (12060, (8, 5)),
        (12080, (8, 7)),
        (12090, (8, 8)),
        (13000, (9, 0)),
    ],
)
def test_newest_ptx_of_a_driver(cuda, ptx):
    assert newest_ptx(cuda) == ptx


@pytest.mark.parametrize(("shape", "dimensions"), [(np.int64(3), (3,)), (np.array([2, 3]), (2, 3)), ([2, 3], (2, 3))])
def test_numpy_integers_are_a_shape(fake, shape, dimensions):
    assert gs.empty(shape).shape == dimensions


@pytest.mark.parametrize("shape", [2.5, (2, 3.5), "ab", None])
def test_a_shape_that_is_no_whole_number_is_refused(fake, shape):
    with pytest.raises(TypeError, match="is neither a whole number nor a tuple of them"):
        gs.empty(shape)


HOST = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
PARTS = [
    np.s_[0], np.s_[-1], np.s_[1:3], np.s_[...], np.s_[1, 2], np.s_[1, 2, 3], np.s_[1, 1:3], np.s_[0, 0, 1:4],
    np.s_[None], np.s_[1:2, 2:3], np.s_[2, 1:2, 1:4], np.s_[3:], np.s_[..., :], np.s_[np.int64(2)], np.s_[:, :, :],
]  # fmt: skip


@pytest.mark.parametrize("key", PARTS, ids=str)
def test_a_part_without_gaps_is_a_view(fake, key):
    array = gs.to_device(HOST)
    part = array[key]
    np.testing.assert_array_equal(part.numpy(), HOST[key])
    assert part.shape == HOST[key].shape
    part.copy_from(np.full(part.shape, -1, np.float32))
    want = HOST.copy()
    want[key] = -1
    np.testing.assert_array_equal(array.numpy(), want)


@pytest.mark.parametrize("key", [np.s_[:, 0], np.s_[::2], np.s_[..., 0], np.s_[::-1], np.s_[:, 1:3]], ids=str)
def test_a_part_with_gaps_is_refused_with_the_way_out(fake, key):
    with pytest.raises(
        ValueError, match=r"has gaps in memory .* slice the first dimension .*gs.to_device\(d.numpy\(\)"
    ):
        gs.to_device(HOST)[key]


@pytest.mark.parametrize("key", [[0, 1], HOST > 3, "a", True, 1.5], ids=lambda key: type(key).__name__)
def test_other_indices_are_refused(fake, key):
    with pytest.raises(TypeError, match="indexed by whole numbers and slices"):
        gs.to_device(HOST)[key]


def test_an_index_out_of_range(fake):
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        gs.to_device(HOST)[3]


def test_a_view_keeps_the_memory_alive(fake):
    part = gs.to_device(np.arange(8.0))[4:]
    gc.collect()
    gs.to_device(np.zeros(8))
    np.testing.assert_array_equal(part.numpy(), np.arange(4.0, 8.0))


def test_rows_numbers_and_iteration(fake):
    array = gs.to_device(HOST)
    assert [row.shape for row in array] == [(4, 5)] * 3
    assert (float(array[1, 2, 3]), int(array[0, 0, 4]), array[2, 0, 0].item()) == (33.0, 4, 40.0)


def test_reshape_and_view_share_the_memory(fake):
    array = gs.to_device(HOST)
    assert array.reshape(-1).shape == (60,)
    assert array.reshape((6, -1)).shape == (6, 10)
    assert array.reshape(12, 5)[3].address == array.address + 60
    np.testing.assert_array_equal(array.view(np.int32).numpy(), HOST.view(np.int32))
    assert array.view("u1").shape == (3, 4, 20)
    with pytest.raises(ValueError, match=r"has 60 elements, which do not fit \(7, -1\)"):
        array.reshape(7, -1)
    with pytest.raises(ValueError, match="no whole number of float64"):
        array.view(np.float64)


@pytest.mark.parametrize("use", [lambda d: d + 1, lambda d: 2 * d, lambda d: -d, lambda d: d @ d, lambda d: d / 2])
def test_arithmetic_says_the_way_out(fake, use):
    with pytest.raises(TypeError, match=r"no arithmetic: copy it to the host .* or let a kernel do it"):
        use(gs.to_device(HOST))


@pytest.mark.parametrize(
    ("name", "way"),
    [("sum", r"d\.numpy\(\)\.sum"), ("T", r"d\.numpy\(\)\.T"), ("cpu", r"d\.numpy\(\) for NumPy's")],
)
def test_what_only_numpy_has_says_the_way_there(fake, name, way):
    with pytest.raises(AttributeError, match=rf"a device array has no {name}: copy it to the host, {way}"):
        getattr(gs.to_device(HOST), name)


def test_assignment_says_the_way_out(fake):
    with pytest.raises(TypeError, match=r"d\[key\].copy_from\(host\)"):
        gs.to_device(HOST)[0] = 1


def test_a_kernel_takes_a_view():
    with gs.use(gs.VirtualGPU(workers=1)):
        array = gs.to_device(HOST)
        gs.cuda("__global__ void add(float *x) { x[threadIdx.x] += 100; }")["add"][1, 5](array[1, 2])
        want = HOST.copy()
        want[1, 2] += 100
        np.testing.assert_array_equal(array.numpy(), want)
