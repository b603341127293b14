"""Which kernels may have generic addresses of shared memory."""

from __future__ import annotations

import pytest

from gridstride.virtual.lowering.analysis.generic_windows import makes_generic
from gridstride.virtual.ptx import parse

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 s[64];
    mov.u64 %rd1, s;
    INSTRUCTION
    ret;
}"""


@pytest.mark.parametrize(
    ("instruction", "generic"),
    [
        ("cvta.shared.u64 %rd2, %rd1;", True),
        ("cvta.to.shared.u64 %rd2, %rd1;", False),
        ("cvta.global.u64 %rd2, %rd1;", False),
        ("st.shared.u32 [%rd1], 0;", False),
    ],
)
def test_only_a_conversion_makes_shared_memory_generic(instruction: str, generic: bool) -> None:
    module = parse(KERNEL.replace("INSTRUCTION", instruction))
    assert makes_generic(module.functions.values()) is generic
