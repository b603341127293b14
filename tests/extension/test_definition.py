"""What `gs.torch_op` makes of a kernel's parameters, and what it refuses before anything is registered."""

from __future__ import annotations

import pytest

import gridstride as gs

pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*runs on the virtual")


def test_schemas_follow_the_kernels_parameters(ops):
    assert str(ops.gelu._schema) == "mine::gelu(Tensor x) -> Tensor y"
    assert str(ops.gelu_backward._schema) == "mine::gelu_backward(Tensor dy, Tensor x) -> Tensor dx"
    assert str(ops.row_dot._schema) == "mine::row_dot(Tensor x, Tensor w) -> (Tensor y, Tensor length)"
    assert str(ops.scale._schema) == "mine::scale(Tensor(a!) x, float a) -> ()"
    assert str(ops.twice._schema) == "mine::twice(Tensor x) -> Tensor y"
    assert str(ops.first._schema) == "mine::first(Tensor x, SymInt k, bool flip) -> (Tensor k_of, Tensor top)"


@pytest.mark.parametrize(
    ("kernel", "changed", "message"),
    [
        ("total", {"shape": {"x": "*n"}}, "shape does not say how large sum is"),
        ("total", {"shape": {"x": "*n", "sum": "", "z": "n"}}, "shape names 'z', which total does not take"),
        ("total", {"shape": {"x": "*n", "sum": "m"}}, "shape of sum has 'm', and there is x, n"),
        ("total", {"shape": {"x": "*n", "sum": "", "n": "1"}}, "shape of n: a number has none"),
        ("total", {"shape": {"x": lambda n: (n,), "sum": ""}}, "shape.'x'. asks for 'n'|shape of x"),
        ("total", {"shape": {"x": "*sum", "sum": ""}}, "shape of x has the symbol sum, which is an array"),
        ("total", {"grid": lambda m: m}, "grid asks for 'm', and there is x, n, sum"),
        ("total", {"scalars": {"x": lambda n: n}}, "scalars names x, which is an array"),
        ("total", {"zeroed": ["x"]}, "zeroed names x, which is no output; outputs are sum"),
        ("total", {"in_place": ["x"]}, "in_place names x, which the kernel takes as a pointer to const"),
        ("total", {"backward": lambda dsum, y: dsum}, "backward asks for 'y', and there is dsum, x, sum"),
        ("total", {"backward": lambda x: x}, "backward does not ask for dsum"),
        ("scale", {"shape": {"x": "*n"}}, "no parameter of the kernel is a tensor that is given"),
        ("scale", {"shape": {"x": "*n"}, "in_place": ["x"], "backward": lambda x: x}, "x is written in place"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_kernel_is_refused(ops, kernel, changed, message):
    given = {"shape": {"x": "*n", "sum": ""}, "grid": 1, "block": 1, **changed}
    with pytest.raises(ValueError, match=f"mine::wrong: .*{message}"):
        gs.torch_op("mine::wrong", ops.module[kernel], **given)


def test_a_backward_op_that_gives_what_is_no_input(ops):
    shape, kernel = {"y": "*n", "total": ""}, gs.cuda("__global__ void k(const float* y, float* total) {}")["k"]
    with pytest.raises(ValueError, match="mine::wrong: backward asks for 'dy', and there is dtotal, y, total"):
        gs.torch_op("mine::wrong", kernel, shape=shape, grid=1, block=1, backward=ops.gelu_backward)


def test_kernels_of_one_op_take_the_same(ops):
    with pytest.raises(ValueError, match="mine::wrong: total takes x, sum, n, gelu<float> x, y, n"):
        gs.torch_op("mine::wrong", [ops.module["gelu<float>"], ops.module["total"]], shape={}, grid=1, block=1)


@pytest.mark.parametrize("kernel", ["gelu", [], lambda x: x])
def test_what_is_no_kernel_is_refused(kernel):
    with pytest.raises(TypeError, match="mine::wrong: kernel must be a kernel of CUDA C"):
        gs.torch_op("mine::wrong", kernel, shape={}, grid=1, block=1)


def test_parameters_that_no_op_can_take():
    module = gs.cuda(
        "struct Pair { int a, b; };\n"
        "__global__ void pair(const float* x, Pair p) {}\n__global__ void blind(const float*, float* y) {}"
    )
    with pytest.raises(ValueError, match="mine::wrong: p is Pair, which no argument of a PyTorch op can be"):
        gs.torch_op("mine::wrong", module["pair"], shape={}, grid=1, block=1)
    with pytest.raises(ValueError, match=r"mine::wrong: blind has parameters without names \(argument 1, y\)"):
        gs.torch_op("mine::wrong", module["blind"], shape={"y": "1"}, grid=1, block=1)


@pytest.mark.parametrize("name", ["gelu", "a::b::c", "mine::", "mine::2d", "mine::class", "for::gelu"])
def test_a_name_needs_a_namespace(ops, name):
    with pytest.raises(ValueError, match="is no name of an op"):
        gs.torch_op(name, ops.module["gelu<float>"], shape={"x": "*n", "y": "*n"}, grid=1, block=1)


def test_a_name_that_is_taken(ops):
    with pytest.raises(ValueError, match="aten::gelu is an op that something else has registered"):
        gs.torch_op("aten::gelu", ops.module["gelu<float>"], shape={"x": "*n", "y": "*n"}, grid=1, block=1)


@pytest.mark.parametrize("name", ["aten::mine", "prims::mine", "gridstride::mine", "c10d::mine"])
def test_a_namespace_that_is_pytorchs_or_ours(ops, name):
    with pytest.raises(ValueError, match=f"{name}: the namespace .* is not yours"):
        gs.torch_op(name, ops.module["gelu<float>"], shape={"x": "*n", "y": "*n"}, grid=1, block=1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"backward": 5}, "mine::wrong: backward is 5, neither an op nor a function"),
        ({"cpu": 5}, "mine::wrong: cpu is 5, not a function"),
        ({"name": 5}, "name is 5, not a text"),
    ],
)
def test_an_argument_of_another_type_is_named(ops, changed, message):
    given = {"name": "mine::wrong", "shape": {"x": "*n", "y": "*n"}, "grid": 1, "block": 1, **changed}
    with pytest.raises(TypeError, match=message):
        gs.torch_op(given.pop("name"), ops.module["gelu<float>"], **given)


def test_an_op_that_is_defined_again_is_the_new_one(ops):
    import torch

    for factor in (2.0, 3.0):
        module = gs.cuda(f'extern "C" __global__ void k(const float* x, float* y) {{ *y = {factor} * *x; }}')
        op = gs.torch_op("mine::again", module["k"], shape={"x": "1", "y": "1"}, grid=1, block=1)
        with gs.use("virtual"):
            assert op(torch.ones(1)).item() == torch.ops.mine.again(torch.ones(1)).item() == factor
