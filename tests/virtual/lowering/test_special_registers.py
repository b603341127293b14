"""Special registers: each that the parser knows has a value, and `%tid`'s unused fourth component is 0."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.parsing.names import SPECIALS

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def test_every_one_that_the_parser_knows_is_lowered() -> None:
    lines = [f"mov.{'u64' if name.endswith('64') else 'u32'} {'%w' if name.endswith('64') else '%t'}, {name};"
             for name in SPECIALS if name not in ("%current_graph_exec",)]  # fmt: skip
    body = "\n".join([".reg .b32 %t;", ".reg .b64 %w;", *lines, "mov.u64 %w, %current_graph_exec;", "ret;"])
    module = parse(f"{HEADER}.visible .entry k()\n{{\n{body}\n}}\n")
    for block in ((256, 1, 1), (8, 8, 4), (7, 5, 1)):
        assert "define" in lower_kernel(module, "k", BlockShape.of(*block)).ir


@pytest.mark.parametrize("component", ["w", "a"])
def test_the_fourth_component_of_tid_is_zero(component: str) -> None:
    ptx = f"""{HEADER}.visible .entry k(.param .u64 p)
    {{
        .reg .b32 %t<3>;
        .reg .b64 %w<3>;
        ld.param.u64 %w0, [p];
        mov.u32 %t0, %tid.x;
        mul.wide.u32 %w1, %t0, 4;
        add.u64 %w2, %w0, %w1;
        mov.u32 %t1, %tid.{component};
        st.global.u32 [%w2], %t1;
        ret;
    }}
    """
    out = np.full(64, 9, np.uint32)
    with gs.use("virtual"):
        gs.ptx(ptx)["k"][1, 64](out)
    assert not out.any()
