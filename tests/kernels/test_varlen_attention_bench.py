"""What bench/varlen_attention_h200.py does without a GPU: its work, its references and what it holds against them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCH), *sys.path])
        import varlen_attention_h200

        yield varlen_attention_h200


def test_operations_are_those_of_the_keys_that_are_seen(bench: ModuleType) -> None:
    case = bench.Case("two", (3, 5), heads=2, width=16)
    assert case.flops == 4 * 2 * 16 * (1 + 2 + 3 + 1 + 2 + 3 + 4 + 5)
    assert bench.Case("two", (3, 5), heads=2, width=16, causal=False).flops == 4 * 2 * 16 * (9 + 25)


def test_the_ops_kernels_took_less_time_than_pytorchs_in_every_case() -> None:
    for case in json.loads((BENCH / "results" / "varlen_attention_h200.json").read_text())["cases"]:
        took = {(each["pass"], each["kernel"]): each["ms"] for each in case["runs"]}
        ours, theirs = (
            sum(took[way, kernel] for way in ("forward", "backward")) for kernel in ("gridstride", "varlen_attn")
        )
        assert ours < theirs, case["case"]


def test_documents_are_32768_tokens(bench: ModuleType) -> None:
    assert sum(bench.DOCUMENTS) == 32_768


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_a_wrong_result_or_gradient_is_seen_and_a_refusal_is_told(bench: ModuleType, causal: bool) -> None:
    torch.manual_seed(5)
    case = bench.Case("three", (3, 1, 9), heads=4, kv_heads=2, width=16, causal=causal)
    given = bench.Given(case, "cpu", torch.float32)
    ways = bench.contenders(given)
    right = ways["gridstride"]
    ways["off"] = bench.Contender(lambda q, k, v: given.ours(q * 1.1, k, v), right.leaves, right.dout)
    wrong, refused = bench.compared(given, ways)
    assert set(wrong["gridstride"]) == {"out", "dq", "dk", "dv"}
    assert max(wrong["gridstride"].values()) < 1e-5
    assert min(wrong["off"].values()) > 1e-3
    assert "nested cuDNN" in refused


def test_a_padded_batch_holds_each_sequence_and_zeros(bench: ModuleType) -> None:
    given = bench.Given(bench.Case("two", (3, 5), heads=4, kv_heads=2, width=16), "cpu", torch.float32)
    q, k, _ = given.padded()
    assert q.shape == (2, 4, 5, 16)
    torch.testing.assert_close(k[1, :, 2], given.k[5])
    assert not q[0, :, 3:].any()
