"""Instructions that a chip lacks are refused for it, as ptxas does."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.syntax_errors import PtxError

TARGETS = ("sm_75", "sm_80", "sm_90", "sm_90a")
# What ptxas 13.0 accepts, from the first of these targets on.
FIRST = {
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2]": "sm_75",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2": "sm_75",
    "cp.async.wait_all": "sm_80",
    "mbarrier.inval.b64 [%rd1]": "sm_80",
    "createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5": "sm_80",
    "redux.sync.add.s32 %r1, %r2, -1": "sm_80",
    "cp.async.bulk.wait_group 0": "sm_90",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2": "sm_90",
    "barrier.cluster.arrive": "sm_90",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2}": "sm_90",
    "elect.sync %r1|%p1, 3": "sm_90",
    "mapa.shared::cluster.u32 %r1, %r2, %r3": "sm_90",
    "getctarank.shared::cluster.u32 %r1, %r2": "sm_90",
    "griddepcontrol.wait": "sm_90",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3]": "sm_90",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, [%r3]": "sm_90",
    "wgmma.fence.sync.aligned": "sm_90a",
    "setmaxnreg.inc.sync.aligned.u32 40": "sm_90a",
    "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 3": "sm_90a",
}


def module(target: str, text: str) -> str:
    names = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;"
    return f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{ {names}\n{text};\nret; }}\n"


@pytest.mark.parametrize(("text", "first"), FIRST.items(), ids=[text.partition(" ")[0] for text in FIRST])
def test_a_target_has_what_ptxas_says_it_has(text: str, first: str) -> None:
    for target in TARGETS:
        if TARGETS.index(target) >= TARGETS.index(first):
            parse(module(target, text))
        else:
            with pytest.raises(PtxError, match=f"needs .target {first}, this module is for {target}"):
                parse(module(target, text))


def test_inline_assembly_for_another_chip_is_refused_where_it_is_loaded() -> None:
    module = gs.cuda('__global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }')
    with (
        gs.use(gs.VirtualGPU("a100")),
        pytest.raises(PtxError, match=r"'wgmma\.fence\.sync' needs \.target sm_90a, this module is for sm_80"),
    ):
        module["k"][1, 128]()
