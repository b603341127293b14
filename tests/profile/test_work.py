"""The least work of an operator, by hand for one of each family, and by PyTorch's own count where it has one."""

from __future__ import annotations

from typing import Any

import pytest

from gridstride.profile.trace import Inputs
from gridstride.profile.work import MinimalWork, family, work


def inputs(*dims: tuple[Any, ...], types: str | tuple[str, ...] = "float", concrete: tuple[str, ...] = ()) -> Inputs:
    named = (types,) * len(dims) if isinstance(types, str) else types
    return Inputs(dims, named, concrete or ("",) * len(dims))


CASES = [
    ("aten::mm", inputs((4, 8), (8, 2)), MinimalWork(2 * 4 * 8 * 2, 4 * (32 + 16 + 8), "float")),
    ("aten::addmm", inputs((2,), (4, 8), (8, 2)), MinimalWork(128, 4 * (32 + 16 + 8), "float")),
    ("aten::bmm", inputs((3, 4, 8), (3, 8, 2), types="c10::BFloat16"),
     MinimalWork(3 * 128, 2 * 3 * 56, "c10::BFloat16")),
    ("aten::mv", inputs((4, 8), (8,)), MinimalWork(64, 4 * (32 + 8 + 4), "float")),
    ("aten::add", inputs((4, 1), (3,)), MinimalWork(12, 4 * (4 + 3 + 12), "float")),
    ("aten::add_", inputs((4, 3), (4, 3)), MinimalWork(12, 4 * 36, "float")),
    ("aten::mul", inputs((5,), (), types=("double", "Scalar")), MinimalWork(5, 8 * 10, "double")),
    ("aten::sum", inputs((10, 10)), MinimalWork(100, 400, "float")),
    ("aten::_softmax", inputs((10, 10)), MinimalWork(100, 800, "float")),
    ("aten::native_layer_norm", inputs((4, 5), (5,), (5,)), MinimalWork(20, 160, "float")),
    ("aten::copy_", inputs((4, 5), (4, 5), types=("float", "double")), MinimalWork(0, 20 * 12, "float")),
    ("aten::cat", inputs(((4, 5), (2, 5)), types="TensorList"), MinimalWork(0, 2 * 4 * 30, "float")),
    ("aten::fill_", inputs((7,)), MinimalWork(7, 28, "float")),
    ("aten::index_select", inputs((100, 8), (), (5,), types=("float", "Scalar", "long int"), concrete=("", "0", "")),
     MinimalWork(0, 2 * 4 * 40, "float")),
    ("aten::_fused_adamw_", inputs(*(((4, 5), (5,)),) * 4, types="TensorList"),
     MinimalWork(100, 4 * (100 + 75), "float")),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "given", "least"), CASES, ids=[case[0] for case in CASES])
def test_least_work(operator: str, given: Inputs, least: MinimalWork) -> None:
    assert work(operator, given) == least


def test_a_causal_mask_halves_attention_and_backward_is_two_and_a_half_times() -> None:
    q = (2, 4, 64, 16)
    name = "aten::_scaled_dot_product_flash_attention"
    whole = work(name, inputs(q, q, q, (), (), concrete=("", "", "", "0.", "False")))
    causal = work(name, inputs(q, q, q, (), (), concrete=("", "", "", "0.", "True")))
    arguments = ("",) * 10 + ("0.", "False")
    backward = work(f"{name}_backward", inputs(q, q, q, q, concrete=arguments))
    assert whole is not None
    assert causal is not None
    assert backward is not None
    assert whole.flops == 4 * 2 * 4 * 64 * 64 * 16
    assert causal.flops == whole.flops / 2
    assert backward.flops == 2.5 * whole.flops


def test_attention_kernels_are_given_heads_after_positions() -> None:
    q, k = (2, 64, 4, 16), (2, 32, 4, 16)
    whole = ("",) * 8 + ("False",)
    found = work("aten::_flash_attention_forward", inputs(q, k, k, (), (), concrete=whole))
    assert found is not None
    assert found.flops == 4 * 2 * 4 * 64 * 32 * 16


def test_of_an_attention_whose_mask_is_unknown_the_causal_part_is_counted() -> None:
    q = (2, 64, 4, 16)
    found = work("aten::_flash_attention_forward", inputs(q, q, q, (), ()))
    assert found is not None
    assert found.flops == 4 * 2 * 4 * 64 * 64 * 16 / 2


@pytest.mark.parametrize("operator", ["aten::view", "mine::op", "aten::mm"])
def test_nothing_is_said_where_nothing_is_known(operator: str) -> None:
    assert work(operator, None) is None
    assert work(operator, inputs((4,), ()) if operator == "aten::mm" else inputs((4, 4))) is None


def test_an_unknown_operator_is_of_no_family() -> None:
    assert family("mine::op").key == "other"


def test_products_and_convolutions_agree_with_pytorchs_own_count() -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    a, b = torch.rand(5, 7), torch.rand(7, 9)
    x, w = torch.rand(2, 6, 11, 13), torch.rand(8, 3, 3, 5)
    with FlopCounterMode(display=False) as counted:
        a @ b
        torch.nn.functional.conv2d(x, w, padding=(1, 2), stride=(2, 1), groups=2)
    product = work("aten::mm", inputs((5, 7), (7, 9)))
    convolution = work(
        "aten::mkldnn_convolution",
        Inputs(((2, 6, 11, 13), (8, 3, 3, 5), (), (), (), ()), ("float", "float", *("ScalarList",) * 3, "Scalar"),
               ("", "", "", "[1, 2]", "[2, 1]", "[1, 1]")),
    )  # fmt: skip
    assert product is not None
    assert convolution is not None
    assert product.flops + convolution.flops == counted.get_total_flops()
