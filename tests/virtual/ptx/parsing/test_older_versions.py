"""What texts of older PTX versions leave out is what ptxas adds: held against `ptxas -arch sm_90` and nvdisasm."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.syntax_errors import PtxError

ENTRY = """
.entry k (.param .u64 out) {{
    .reg .f32 %f<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.global.f32 %f1, [%rd1];
    {text}
    st.global.f32 [%rd1], %f1;
    exit;
}}
"""


def module(version: str, target: str, text: str) -> str:
    return f".version {version}\n.target {target}\n{ENTRY.format(text=text)}"


def result(version: str, target: str, text: str, value: float) -> np.float32:
    """What one thread makes of the value."""
    values = np.array([value], np.float32)
    with gs.use(gs.VirtualGPU("h200")):
        gs.ptx(module(version, target, text))["k"][1, 1](values)
    return np.float32(values[0])


@pytest.mark.parametrize(("version", "target"), [("1.4", "sm_10"), ("2.0", "sm_20"), ("3.1", "sm_20")])
@pytest.mark.parametrize("name", ["mad.f32", "mad .f32", "mad.sat.f32"])
def test_mad_without_rounding_is_a_fused_multiply_add(version: str, target: str, name: str) -> None:
    x = 1 + 2**-12  # x*x - 1 is exact only where the product is not rounded before the sum
    found = result(version, target, f"{name} %f1, %f1, %f1, 0fBF800000;", x)
    assert float(found) == x * x - 1


def test_mad_without_rounding_is_refused_from_ptx_3_2_on() -> None:
    parse(module("3.1", "sm_20", "mad.f32 %f1, %f1, %f1, %f1;"))
    with pytest.raises(PtxError, match=r"'mad' of this kind needs one of \.rm, \.rn, \.rp, \.rz"):
        parse(module("3.2", "sm_20", "mad.f32 %f1, %f1, %f1, %f1;"))


def test_mad_of_doubles_always_needs_a_rounding() -> None:
    with pytest.raises(PtxError, match="'mad' of this kind needs one of"):
        parse(module("1.4", "sm_13", ".reg .f64 %d<2>; mad.f64 %d1, %d1, %d1, %d1;"))


@pytest.mark.parametrize("text", ["add.f32 %f1, %f1, 0f00000000;", "mul.rn.f32 %f1, %f1, 0f3F800000;"])
def test_float32_of_the_first_chips_has_no_subnormal_numbers(text: str) -> None:
    subnormal = 2.0**-130
    assert result("1.4", "sm_13", text, subnormal) == 0
    assert result("2.0", "sm_20", text, subnormal) == np.float32(subnormal)
