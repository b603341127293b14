"""A user's kernel as an op: values, gradients and PyTorch's own rules, on the virtual GPU and on a GPU."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import gridstride as gs

torch = pytest.importorskip("torch")
F = torch.nn.functional

on_the_virtual_gpu = pytest.mark.usefixtures("virtual")
pytestmark = pytest.mark.filterwarnings("ignore:.*runs on the virtual")


def reference(x):
    return F.gelu(x, approximate="tanh")


def rows(*shape, dtype=torch.float64, device="cpu", seed=0):
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.to(device, dtype)


# -- on the virtual GPU ------------------------------------------------------------------------------------------------
@on_the_virtual_gpu
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 150), (0,), (4, 0)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_value_and_gradient(ops, shape, dtype):
    ours, theirs = (rows(*shape, dtype=dtype).requires_grad_() for _ in range(2))
    for call, x in ((ops.gelu, ours), (reference, theirs)):
        call(x).square().sum().backward()
    torch.testing.assert_close(ops.gelu(ours), reference(theirs))
    torch.testing.assert_close(ours.grad, theirs.grad)


@on_the_virtual_gpu
def test_gradients_are_slopes(ops):
    assert torch.autograd.gradcheck(ops.gelu, rows(3, 4).requires_grad_())
    given = rows(2, 3, 4).requires_grad_(), rows(4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: ops.row_dot(x, w)[0], given)
    assert torch.autograd.gradgradcheck(lambda x, w: ops.row_dot(x, w)[0], given)


@on_the_virtual_gpu
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("gelu", lambda: (rows(3, 4).requires_grad_(),)),
        ("gelu", lambda: (rows(3, 4).t().float(),)),
        ("gelu_backward", lambda: (rows(5), rows(5))),
        ("row_dot", lambda: (rows(2, 3, 4).requires_grad_(), rows(4).requires_grad_())),
        ("scale", lambda: (torch.ones(5), 2.0)),
        ("total", lambda: (torch.ones(5, requires_grad=True),)),
        ("first", lambda: (torch.ones(9), 3, True)),
    ],
)
def test_pytorchs_own_rules(ops, name, args):
    torch.library.opcheck(getattr(ops, name), args())


@on_the_virtual_gpu
def test_one_graph_under_torch_compile(ops):
    x, y = (rows(9, dtype=torch.float32).requires_grad_() for _ in range(2))
    compiled = torch.compile(lambda x: ops.gelu(x * 2) + 1, fullgraph=True, backend="aot_eager")
    compiled(x).sum().backward()
    (reference(y * 2) + 1).sum().backward()
    torch.testing.assert_close(compiled(x), reference(y * 2) + 1)
    torch.testing.assert_close(x.grad, y.grad)


@on_the_virtual_gpu
def test_an_op_in_place_under_torch_compile(ops):
    def step(x):
        y = x + 1
        ops.scale(y, 3.0)
        return y + 1

    assert torch.compile(step, fullgraph=True, backend="aot_eager")(torch.ones(4)).tolist() == [7.0] * 4


def test_fake_tensors_need_no_gpu(ops):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        y, length = ops.row_dot(torch.empty(2, 3, 4, dtype=torch.float64), torch.empty(4, dtype=torch.float64))
        indices, top = ops.first(torch.empty(9), 3, False)
    assert (y.shape, length.shape, y.dtype) == ((2, 3), (2, 3), torch.float64)
    assert (indices.shape, indices.dtype, top.shape) == ((3,), torch.int32, (3,))


@on_the_virtual_gpu
def test_tensors_that_are_not_contiguous_are_copied(ops):
    x = rows(6, 10)
    for part in (x.t(), x[:, ::2], x[:, :1].expand(6, 4), x[1:, 3:]):
        torch.testing.assert_close(ops.gelu(part), reference(part))


@on_the_virtual_gpu
def test_tensors_that_begin_between_vectors_are_copied(ops):
    x = torch.arange(17.0)
    assert ops.twice(x[1:]).tolist() == (2 * x[1:]).tolist()


@on_the_virtual_gpu
def test_what_is_added_up_begins_at_zero(ops):
    assert ops.total(torch.ones(300)).item() == 300
    assert ops.total(torch.ones(0)).item() == 0
    x = torch.ones(3, requires_grad=True)
    (ops.total(x) * 5).backward()
    assert x.grad.tolist() == [5, 5, 5]


@on_the_virtual_gpu
def test_in_place_counts_versions(ops):
    x = torch.ones(3, requires_grad=True) * 1
    squares = x * x
    with torch.no_grad():
        ops.scale(x, 2.0)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squares.sum().backward()


@on_the_virtual_gpu
def test_an_output_without_a_gradient_of_its_own_requires_none(ops):
    y, length = ops.row_dot(rows(3, 4).requires_grad_(), rows(4))
    assert (y.requires_grad, length.requires_grad) == (True, False)


@on_the_virtual_gpu
def test_no_grid_is_refused_where_something_is_to_be_written(ops):
    op = gs.torch_op("mine::lost", ops.module["total"], shape={"x": "*n", "sum": ""}, grid=lambda n: n, block=1)
    with pytest.raises(ValueError, match="grid is 0, and nothing would write the 1 elements of sum"):
        op(torch.ones(0))


@pytest.mark.slow
def test_the_pages_example_runs():
    page = Path(__file__).parents[2] / "docs" / "extensions.md"
    code = page.read_text().partition("```python\n")[2].partition("```")[0]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# -- which device ------------------------------------------------------------------------------------------------------
def test_cpu_tensors_are_refused_unless_the_virtual_gpu_is_asked_for(ops, monkeypatch):
    monkeypatch.delenv("GRIDSTRIDE_DEVICE", raising=False)
    with pytest.raises(ValueError, match="mine::gelu: x is on the CPU, and the kernel is for CUDA tensors"):
        ops.gelu(torch.ones(3))
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "virtual")
    torch.testing.assert_close(ops.gelu(torch.ones(3)), reference(torch.ones(3)))


def test_a_function_for_cpu_tensors(ops):
    op = gs.torch_op(
        "mine::also_on_cpu", ops.module["gelu<float>"], shape={"x": "*n", "y": "*n"}, grid=1, block=256, cpu=reference
    )
    x = torch.ones(3)
    torch.testing.assert_close(op(x), reference(x))
    half = "mine::also_on_cpu: x is float16; .* kernel for x float32"
    with pytest.raises(TypeError, match=half):
        op(x.half())
    with gs.use("virtual"), pytest.raises(TypeError, match=half):
        op(x.half())


@on_the_virtual_gpu
def test_it_says_once_that_the_gpu_is_virtual(ops):
    op = gs.torch_op("mine::loud", ops.module["gelu<float>"], shape={"x": "*n", "y": "*n"}, grid=1, block=256)
    with pytest.warns(UserWarning, match="mine::loud runs on the virtual h200, which computes on the CPU"):
        op(torch.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op(torch.ones(3))


def test_a_fault_in_the_kernel_comes_out_of_the_op(ops):
    op = gs.torch_op(
        "mine::too_far", ops.module["twice"], shape={"x": "*n", "y": "*n"}, scalars={"quads": 9}, grid=1, block=32
    )
    with gs.use(gs.VirtualGPU("t4", sanitize=True)), pytest.raises(gs.KernelFault, match="twice"):
        op(torch.ones(4))


# -- what is refused ---------------------------------------------------------------------------------------------------
@on_the_virtual_gpu
@pytest.mark.parametrize(
    ("name", "args", "error", "message"),
    [
        ("gelu", lambda: (torch.ones(3).half(),), TypeError, "x is float16; there is a kernel for x float32 or"),
        ("row_dot", lambda: (rows(2, 3), rows(4)), ValueError, r"w has shape \(4,\), not \[width\] with width = 3"),
        ("row_dot", lambda: (rows(2, 3), rows(3).float()), TypeError, "w is float32"),
        ("row_dot", lambda: (rows(2, 3), rows(3).to("meta")), ValueError, "w is on meta, not on cpu as x is"),
        ("scale", lambda: (torch.ones(4, 4).t(), 1.0), ValueError, r"x has strides \(1, 4\); in place it must be"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(ops, name, args, error, message):
    with pytest.raises(error, match=f"mine::{name}: {message}"):
        getattr(ops, name)(*args())


@on_the_virtual_gpu
def test_a_gradient_through_an_op_without_one(ops):
    x = rows(3).requires_grad_()
    with pytest.raises(NotImplementedError, match="mine::gelu_backward has no derivative"):
        ops.gelu_backward(rows(3), x).sum().backward()


@on_the_virtual_gpu
def test_what_is_written_in_place_holds_its_own_values_outside_of_autograd(ops):
    with pytest.raises(NotImplementedError, match="mine::scale has no derivative: it writes x in place"):
        ops.scale(torch.ones(4, requires_grad=True), 1.0)
    negated = torch._neg_view(torch.ones(4))
    with pytest.raises(ValueError, match=r"mine::scale: x is a negated view.*x\.resolve_neg\(\)"):
        ops.scale(negated, 2.0)
    assert negated.tolist() == [-1.0] * 4


@on_the_virtual_gpu
@pytest.mark.parametrize("give", [lambda dy, x: {"x": dy, "w": None}, lambda dy, x: (dy, None)], ids=["name", "order"])
def test_a_gradient_that_backward_gives_as_none(ops, give):
    op = gs.torch_op(
        "mine::none_dot", ops.module["row_dot"], grid=1, block=256, backward=give,
        shape={"x": "*rows width", "w": "width", "y": "*rows", "length": "*rows"},
    )  # fmt: skip
    with pytest.raises(NotImplementedError, match="mine::none_dot: w has no gradient; backward gives x"):
        op(rows(2, 3).requires_grad_(), rows(3).requires_grad_())[0].sum().backward()


@on_the_virtual_gpu
def test_forward_mode_is_refused_with_and_without_a_backward_pass(ops):
    for op in (ops.gelu, ops.twice):
        x = rows(8, dtype=torch.float32)
        with pytest.raises(NotImplementedError, match=f"{op._schema.name} has no derivative in forward mode"):
            torch.func.jvp(op, (x,), (x,))


@on_the_virtual_gpu
def test_a_gradient_that_backward_does_not_give(ops):
    op = gs.torch_op(
        "mine::half_dot", ops.module["row_dot"], grid=1, block=256,
        shape={"x": "*rows width", "w": "width", "y": "*rows", "length": "*rows"},
        backward=lambda dy, w: {"x": dy[..., None] * w},
    )  # fmt: skip
    op(rows(2, 3).requires_grad_(), rows(3))[0].sum().backward()
    with pytest.raises(NotImplementedError, match="mine::half_dot: w has no gradient; backward gives x"):
        op(rows(2, 3), rows(3).requires_grad_())[0].sum().backward()


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1,), (3, 5), (1000, 1001), (0, 4)], ids=str)
def test_value_and_gradient_on_a_gpu(ops, shape):
    x = rows(*shape, dtype=torch.float32, device="cuda").requires_grad_()
    y = x.detach().clone().requires_grad_()
    ops.gelu(x).sum().backward()
    reference(y).sum().backward()
    torch.testing.assert_close(ops.gelu(x), reference(y))
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.gpu
def test_pytorchs_own_rules_on_a_gpu(ops):
    torch.library.opcheck(ops.gelu, (rows(3, 4, device="cuda").requires_grad_(),))
    torch.library.opcheck(ops.scale, (torch.ones(5, device="cuda"), 2.0))
    assert torch.autograd.gradcheck(ops.gelu, rows(3, 4, device="cuda").requires_grad_())


@pytest.mark.gpu
def test_under_torch_compile_on_a_gpu(ops):
    x = rows(33, 7, dtype=torch.float32, device="cuda").requires_grad_()
    compiled = torch.compile(lambda x: ops.gelu(x * 2) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(x), reference(x * 2) + 1)
    compiled(x).sum().backward()
    assert x.grad is not None


@pytest.mark.gpu
def test_in_a_captured_graph_on_a_gpu(ops):
    x = rows(1000, dtype=torch.float32, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compiled before the capture, on another stream than the default one
        expected = ops.gelu(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = ops.gelu(x)
    captured.zero_()
    graph.replay()
    torch.testing.assert_close(captured, expected)


@pytest.mark.gpu
def test_strides_and_vectors_on_a_gpu(ops):
    x = rows(64, 65, dtype=torch.float32, device="cuda")
    torch.testing.assert_close(ops.gelu(x.t()), reference(x.t()))
    torch.testing.assert_close(ops.twice(x.flatten()[1:1025]), 2 * x.flatten()[1:1025])


@pytest.mark.gpu
def test_in_place_counts_versions_on_a_gpu(ops):
    x = torch.ones(3, device="cuda")
    ops.scale(x, 2.0)
    assert (x.tolist(), x._version) == ([2, 2, 2], 1)


@pytest.mark.gpu
def test_tensors_on_a_second_gpu(ops):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    x = rows(100, dtype=torch.float32, device="cuda:1")
    with torch.cuda.device(0):
        torch.testing.assert_close(ops.gelu(x), reference(x))
    with pytest.raises(ValueError, match="x is on cuda:0, not on cuda:1 as dy is"):
        ops.gelu_backward(x, x.to("cuda:0"))


@on_the_virtual_gpu
@pytest.mark.parametrize("shape", ["abc", None, 3, (-1,), (1.5,)], ids=str)
def test_a_function_that_gives_no_shape(ops, shape):
    op = gs.torch_op(
        "mine::shapeless", ops.module["gelu<float>"], shape={"x": "*n", "y": lambda n: shape}, grid=1, block=256
    )
    with pytest.raises(ValueError, match="mine::shapeless: shape of y: the function gives "):
        op(torch.ones(3))


@on_the_virtual_gpu
def test_a_gradient_that_is_no_tensor(ops):
    op = gs.torch_op(
        "mine::numeric", ops.module["gelu<float>"], shape={"x": "*n", "y": "*n"}, grid=1, block=256,
        backward=lambda dy: 2.0,
    )  # fmt: skip
    with pytest.raises(TypeError, match="mine::numeric: backward gives a float for x, not a tensor"):
        op(torch.ones(3, requires_grad=True)).sum().backward()


@on_the_virtual_gpu
def test_who_holds_an_op_that_is_defined_again_calls_the_new_one(ops):
    def define(number: float):
        source = (
            f"__global__ void k(const float* x, float* y, int n) {{ if (threadIdx.x < n) y[threadIdx.x] = {number}f; }}"
        )
        kernel = gs.cuda(source)["k"]
        return gs.torch_op("mine::again", kernel, shape={"x": "*n", "y": "*n"}, grid=1, block=256)

    first = define(1.0)
    others = [torch.library.Library("mine_besides", "FRAGMENT") for _ in range(3)]
    for number, library in enumerate(others):
        library.define(f"op{number}(Tensor x) -> Tensor")
    define(2.0)
    for library in others:  # what PyTorch frees is given out again
        library._destroy()
    assert first(torch.zeros(2)).tolist() == [2.0, 2.0]
