"""Member masks of lanes that execute one .sync instruction: who names whom must give the same mask."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

HEAD = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *o, int bits) {
    const int t = threadIdx.x;
"""
SYNCS = {
    "__syncwarp": "__syncwarp(m); o[t] = 1;",
    "a shuffle": "o[t] = __shfl_xor_sync(m, t, 1);",
    "a ballot": "o[t] = __ballot_sync(m, t & 1);",
    "a match": "o[t] = __match_any_sync(m, t & 3);",
    "a reduction": "o[t] = __reduce_add_sync(m, t);",
}
DIFFERENT = {
    "the upper half does not name the lower": "t < 16 ? ~0u : 0xffff0000u",
    "the last lane names itself": "t < 31 ? ~0u : 0x80000000u",
    "each lane, and lane 0": "1u << t | 1u",
    "halves that overlap": "t < 16 ? 0x1ffffu : 0xffff0000u",
}
SAME = {
    "all": "bits | ~0u",
    "halves": "t < 16 ? 0xffffu : 0xffff0000u",
    "pairs": "3u << (t & ~1)",
    "each lane itself": "1u << t",
    "who holds the same": "__match_any_sync(~0u, t % 5)",
    "odd and even": "t & 1 ? 0xaaaaaaaau : 0x55555555u",
}
GROUPS = {
    "tiles": "auto g = cg::tiled_partition<4>(cg::this_thread_block()); o[t] = g.shfl_xor(t, 1); g.sync();",
    "a labelled partition": "auto g = cg::labeled_partition(cg::coalesced_threads(), t % 3); o[t] = g.shfl(t, 0);",
    "a binary partition": "auto g = cg::binary_partition(cg::coalesced_threads(), t % 3 == 0); o[t] = g.size();",
    "lanes that came together": "if (t % 3) { auto g = cg::coalesced_threads(); o[t] = g.any(t & bits); }",
    "__activemask in two branches": "if (t % 3) __syncwarp(__activemask()); else __syncwarp(__activemask()); o[t] = 1;",
}


def kinds(body: str) -> list[tuple[str, str]]:
    with gs.use(gs.VirtualGPU("h200", time_limit=20)):
        found = gs.cuda(HEAD + body + "\n}")["k"].observe(1, 32)(np.zeros(32, np.int32), 0).findings
        return [(f.kind, f.message) for f in found]


@pytest.mark.parametrize("mask", DIFFERENT.values(), ids=DIFFERENT)
@pytest.mark.parametrize("sync", SYNCS)
def test_lanes_that_one_mask_names_give_another(sync: str, mask: str) -> None:
    found = [message for kind, message in kinds(f"unsigned m = {mask};\n{SYNCS[sync]}") if kind == "member_mask"]
    assert len(found) == 1
    assert "all lanes that a mask names must give the same mask" in found[0]


@pytest.mark.parametrize("mask", SAME.values(), ids=SAME)
def test_masks_that_name_no_others_may_differ(mask: str) -> None:
    for sync in ("__syncwarp", "a ballot", "a reduction"):
        assert kinds(f"unsigned m = {mask};\n{SYNCS[sync]}") == []


@pytest.mark.parametrize("body", GROUPS.values(), ids=GROUPS)
def test_groups_of_lanes_have_a_mask_each(body: str) -> None:
    assert kinds(body) == []
