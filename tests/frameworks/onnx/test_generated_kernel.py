"""Kernels over all elements once: views of any strides, broadcast operands, results in places of a larger value."""

from __future__ import annotations

import numpy as np
import pytest

from gridstride.device.choice import device
from gridstride.device.creation import to_device
from gridstride.frameworks.onnx.generated_kernel import Operand, copying_kernel, generated_kernel
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.tensors import Tensor, of_array

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture
def run() -> Launcher:
    return Launcher(device())


def tensor(values: np.ndarray) -> Tensor:
    return of_array(to_device(values.reshape(-1)), values.shape)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
def test_a_transposed_view_is_copied_bit_for_bit(run: Launcher, dtype: str) -> None:
    bits = np.random.default_rng(3).integers(0, 256, 4 * 6 * np.dtype(dtype).itemsize, dtype=np.uint8)
    values = bits.view(dtype).reshape(4, 6)  # NaN with payloads among them
    copied = run.on_host(run.copy(tensor(values).swapped(0, 1)))
    assert copied.tobytes() == np.ascontiguousarray(values.T).tobytes()


def test_what_lies_in_order_is_not_copied(run: Launcher) -> None:
    x = tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert run.contiguous(x) is x
    assert run.launches == []
    run.contiguous(x.swapped(0, 1))
    assert [launch.kernel for launch in run.launches] == ["copy_float"]


def test_a_part_of_a_larger_value_is_written_alone(run: Launcher) -> None:
    out = tensor(np.zeros((3, 4), np.float32))
    run.copy(tensor(np.float32([[1], [2], [3]])), out.sliced(1, 2, 1))
    assert run.on_host(out).tolist() == [[0, 0, 1, 0], [0, 0, 2, 0], [0, 0, 3, 0]]


def test_operands_broadcast_to_the_result(run: Launcher) -> None:
    rows, columns = np.float32([[1], [10]]), np.float32([[1, 2, 3]])
    out = run.empty((2, 3), "float32")
    operands = [Operand(np.dtype("float32"), tensor(each)) for each in (rows, columns)]
    kernel = generated_kernel("outer", ["const float v = x0[p0] * x1[p1];"], "v", operands, out)
    run.launch_generated(kernel)
    assert run.on_host(out).tolist() == (rows * columns).tolist()


def test_axes_that_lie_regularly_are_one_axis_of_the_kernel(run: Launcher) -> None:
    """Fewer divisions; and one source for every rank."""
    x = run.empty((2, 3, 4, 5), "float32")
    flat = copying_kernel(x, run.empty(x.shape, "float32"))
    assert "d1" not in flat.source
    assert copying_kernel(x.swapped(0, 1), run.empty((3, 2, 4, 5), "float32")).source.count("int d") == 2
    assert flat.count == 120
