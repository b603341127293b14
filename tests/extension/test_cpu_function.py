"""`gs.torch_op(cpu=…)`: the function for CPU tensors takes and gives what the kernel does."""

from __future__ import annotations

import pytest

import gridstride as gs

torch = pytest.importorskip("torch")


def made(ops, cpu, *, name="row_dot", **more):
    shape = {"row_dot": {"x": "*rows width", "w": "width", "y": "*rows", "length": "*rows"}, "scale": {"x": "*n"}}[name]
    return gs.torch_op(f"mine::cpu_{name}", ops.module[name], shape=shape, grid=1, block=256, cpu=cpu, **more)


def given(dtype=torch.float64):
    return torch.ones(3, 4, dtype=dtype), torch.ones(4, dtype=dtype)


def test_what_is_as_the_kernels_is_given_back(ops):
    y, length = made(ops, lambda x, w: (x @ w, torch.stack([x.norm(dim=-1)] * 2, 1)[:, 0]))(*given())
    assert y.tolist() == [4.0] * 3
    assert length.is_contiguous()


@pytest.mark.parametrize(
    ("cpu", "error", "message"),
    [
        (lambda x, w: (x[0], x[:, 0] * 1), ValueError, r"torch.float64 \(4,\) on cpu for y, not torch.float64 \(3,\)"),
        (lambda x, w: ((x @ w).float(), x[:, 0] * 1), ValueError, "torch.float32 .* for y, not torch.float64"),
        (lambda x, w: (None, x @ w), TypeError, "a NoneType for y, not a tensor"),
        (lambda x, w: x @ w, ValueError, "1 results, and the op's are y, length"),
        (lambda x, w: (w[:3], x @ w), ValueError, "memory for y that is an argument's or another"),
        (lambda x, w: (y := x @ w, y), ValueError, "memory for length that is an argument's or another"),
    ],
)
def test_what_is_not_is_named(ops, cpu, error, message):
    with pytest.raises(error, match=f"mine::cpu_row_dot: cpu= gives .*{message}"):
        made(ops, cpu)(*given())


def test_dtypes_are_the_kernels(ops):
    with pytest.raises(TypeError, match="mine::cpu_row_dot: x is int64; there is a kernel for x float64"):
        made(ops, lambda x, w: (x @ w, x @ w))(*given(torch.int64))


def double(x, a):
    x.mul_(a)


@pytest.mark.parametrize("cpu", [lambda x, a: x.mul_(a), double], ids=["gives it", "gives nothing"])
def test_a_function_may_write_in_place(ops, cpu):
    x = torch.ones(5)
    assert made(ops, cpu, name="scale", in_place=["x"])(x, 3.0) is None
    assert x.tolist() == [3.0] * 5
    assert x._version > 0


def test_a_function_that_gives_a_new_tensor_writes_nothing_in_place(ops):
    with pytest.raises(ValueError, match="mine::cpu_scale: cpu= gives a Tensor: the op gives nothing"):
        made(ops, lambda x, a: x * a, name="scale", in_place=["x"])(torch.ones(5), 3.0)
