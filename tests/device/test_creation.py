"""Arrays that are made: filled with zeros, one number, or random ones; copies between them."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs


@pytest.fixture(scope="module")
def virtual():
    return gs.VirtualGPU(workers=1)


@pytest.fixture(params=["virtual", pytest.param("physical", marks=pytest.mark.gpu)])
def machine(request):
    """Both machines, in use."""
    with gs.use(request.getfixturevalue("virtual" if request.param == "virtual" else "gpu")) as device:
        yield device


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "bool", "complex64", "float16"])
def test_zeros_and_full(machine, dtype):
    gs.full(1000, 1, np.uint8)  # what the memory may hold from before
    np.testing.assert_array_equal(gs.zeros((3, 4), dtype).numpy(), np.zeros((3, 4), dtype))
    np.testing.assert_array_equal(gs.full((3, 4), 1, dtype).numpy(), np.ones((3, 4), dtype))


def test_full_of_bfloat16(machine):
    d = gs.full(3, 1 / 3, "bfloat16")
    assert (d.dtype_name, d.numpy().tolist()) == ("bfloat16", [0x3EAB] * 3)
    assert d[0].item() == 0.333984375


@pytest.mark.parametrize(
    ("value", "dtype"), [(300, "uint8"), (-1, "uint8"), (1.5, "int32"), ("a", "float32"), (1j, "f4")]
)
def test_a_number_that_the_dtype_does_not_have(machine, value, dtype):
    with pytest.raises(ValueError, match=f"full: value = {value!r} is no {np.dtype(dtype).name}"):
        gs.full(3, value, dtype)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "bfloat16", "int8", "uint32", "int64", "bool", "complex64"]
)
def test_random_numbers(machine, dtype):
    d = gs.random((40, 50), dtype, seed=3)
    assert (d.shape, d.dtype_name) == ((40, 50), dtype)
    values = d.numpy()
    np.testing.assert_array_equal(values, gs.random((40, 50), dtype, seed=3).numpy())
    assert (values != gs.random((40, 50), dtype, seed=4).numpy()).any()
    if dtype == "bfloat16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    if values.dtype.kind == "f":
        assert 0 <= values.min() < 0.1 < 0.9 < values.max() < 1
        assert abs(values.astype(float).mean() - 0.5) < 0.05
    elif values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        assert values.min() < limits.min + 0.1 * limits.max
        assert values.max() > 0.9 * limits.max
    elif values.dtype.kind == "c":
        assert (values.real < 1).all()
        assert len(np.unique(values.imag)) > 1000


def test_there_are_no_random_structures(machine):
    with pytest.raises(ValueError, match="random: there are no random numbers of dtype"):
        gs.random(3, [("a", "i4")])


@pytest.mark.parametrize("make", [gs.zeros, gs.empty, gs.random, lambda shape: gs.full(shape, 1)])
def test_wrong_shapes(machine, make):
    with pytest.raises(TypeError, match=r"(zeros|empty|random|full): shape 2.5 is neither a whole number nor a tuple"):
        make(2.5)
    with pytest.raises(ValueError, match=r"(zeros|empty|random|full): shape \(2, -1\) has a negative dimension"):
        make((2, -1))


def test_wrong_dtypes(machine):
    with pytest.raises(TypeError, match="dtype 'f31' is none of those that NumPy has, nor"):
        gs.zeros(3, "f31")
    with pytest.raises(ValueError, match="dtype object cannot go to a device"):
        gs.empty(3, object)


def test_pytorchs_dtypes(machine):
    torch = pytest.importorskip("torch")
    assert gs.zeros(3, torch.float64).dtype == np.float64
    assert gs.zeros(4, torch.int32).view(torch.uint8).shape == (16,)
    pytest.importorskip("ml_dtypes")  # which lends NumPy this name
    with pytest.raises(TypeError, match=r"dtype torch.float8_e4m3fn is none of those that NumPy has"):
        gs.zeros(3, torch.float8_e4m3fn)


def test_ml_dtypes_bfloat16_is_itself(machine):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    d = gs.full(3, 2.5, ml_dtypes.bfloat16)
    assert (d.dtype, d.dtype_name, d[0].item()) == (np.dtype(ml_dtypes.bfloat16), "bfloat16", 2.5)
    assert gs.random(4, ml_dtypes.bfloat16).numpy().dtype == ml_dtypes.bfloat16
    gs.zeros(3, "bfloat16").copy_from(d)


def test_copies_on_the_device(machine):
    d = gs.random((4, 4))
    copy = gs.to_device(d)
    assert copy.address != d.address
    np.testing.assert_array_equal(copy.numpy(), d.numpy())
    copy[0].copy_from(d[3])
    np.testing.assert_array_equal(copy[0].numpy(), d[3].numpy())
    with pytest.raises(ValueError, match=r"copy_from: float32\[4\] given, float32\[4, 4\] needed"):
        copy.copy_from(d[0])


def test_copies_between_devices_go_by_the_host(virtual, machine):
    with gs.use(gs.VirtualGPU("a100", workers=1)) as other:
        d = gs.to_device(np.arange(4.0))
    there = gs.to_device(d)
    assert (there.device, d.device) == (machine, other)
    np.testing.assert_array_equal(there.numpy(), np.arange(4.0))
    d.copy_from(there)


def test_copy_to_fills_what_the_host_has(machine):
    d, host = gs.random((2, 3)), np.zeros((2, 3), np.float32)
    d.copy_to(host)
    np.testing.assert_array_equal(host, d.numpy())
    with pytest.raises(ValueError, match=r"copy_to: float32\[3, 2\] given, float32\[2, 3\] needed"):
        d.copy_to(host.T)
    with pytest.raises(ValueError, match=r"copy_to: float64\[2, 3\] given, float32\[2, 3\] needed"):
        d.copy_to(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="copy_to: the host's array is not C-contiguous, or it is read-only"):
        d.copy_to(np.zeros((3, 2), np.float32).T)
    with pytest.raises(TypeError, match="copy_to fills NumPy arrays and CPU tensors, a list was given"):
        d.copy_to([0.0])
