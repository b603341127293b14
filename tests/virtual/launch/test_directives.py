"""What a kernel says about its blocks and its chip is held at load and at launch."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) DIRECTIVE
{
    .reg .b64 %o;
    .reg .b32 %v;
    ld.param.u64 %o, [out];
    mov.u32 %v, 5;
    st.global.b32 [%o], %v;
    ret;
}"""


@pytest.mark.parametrize(
    ("directive", "block"),
    [(".reqntid 64", 64), (".reqntid 32, 2", (32, 2)), (".maxntid 64", (32, 2)), (".maxntid 64\n.minnctapersm 4", 64)],
)
def test_a_block_that_fits_runs(gpu: gs.VirtualGPU, directive: str, block: object) -> None:
    out = np.zeros(1, np.int32)
    for _ in range(2):  # the second time from what the cache keeps of the text
        gs.ptx(TEXT.replace("DIRECTIVE", directive))["k"][1, block](out)
        assert out[0] == 5


@pytest.mark.parametrize(
    ("directive", "block", "message"),
    [
        (".reqntid 64", 32, r"takes blocks of 64 x 1 x 1 threads \(.reqntid\), block is 32 x 1 x 1"),
        (".reqntid 64", (32, 2), r"takes blocks of 64 x 1 x 1 threads .* 32 x 2 x 1"),
        (".reqntid 32, 2", 64, r"takes blocks of 32 x 2 x 1 threads .* 64 x 1 x 1"),
        (".reqntid 64", 128, r"has 128 threads, this kernel allows 64"),
        (".maxntid 16, 4", 65, r"has 65 threads, this kernel allows 64"),
    ],
)
def test_a_block_that_does_not_fit_is_refused_with_both_numbers(
    gpu: gs.VirtualGPU, directive: str, block: object, message: str
) -> None:
    kernel = gs.ptx(TEXT.replace("DIRECTIVE", directive))["k"]
    with pytest.raises(gs.LaunchError, match=message):
        kernel[1, block](np.zeros(1, np.int32))
    with pytest.raises(gs.LaunchError, match=message):
        kernel.observe(1, block)(np.zeros(1, np.int32))


def test_a_piece_for_another_chip_is_refused_though_the_others_fit(gpu: gs.VirtualGPU) -> None:
    plain = TEXT.replace("DIRECTIVE", "")
    other = plain.replace("sm_80", "sm_100").replace(" k(", " k2(")
    with gs.use(gs.VirtualGPU("h200", workers=1)), pytest.raises(gs.UnsupportedTarget, match=r"sm_100, .* has sm_90a"):
        gs.ptx(other)
    with gs.use(gs.VirtualGPU("h200", workers=1)):
        newer = gs.ptx(plain)
        assert gs.link(newer).kernels == ("k",)
