"""Rungs that begin before the kernels in front have ended: what they may touch before the wait, and how they start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import gridstride as gs
from gridstride.compiler import compile_cuda
from gridstride.device.launch.kernel import BoundKernel
from gridstride.judge.find import find
from gridstride.judge.header import KernelFile
from gridstride.kernels import torch_op
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.paged_attention.ring import Ring, RingTuning, cut
from gridstride.kernels.rms_norm.op import add_rms_norm
from gridstride.kernels.rotary_cache.op import rotary_cache
from gridstride.protocol import ParameterLayout, Shape
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.flow.cfg import build
from gridstride.virtual.ptx.module import Instruction

WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
PATIENT = [
    ("rms_norm", "03_registers"),
    ("rotary_cache", "03_warp_per_head"),
    ("silu_mul", "03_vectorised"),
    ("paged_attention", "03_split"),
    ("paged_attention", "04_bulk_ring"),
    ("sample", "03_eight_ways"),
]
AHEAD = [
    ("rms_norm", "03_registers", "FIXED_WEIGHTS"),
    ("rotary_cache", "03_warp_per_head", "FIXED_TABLES"),
    ("paged_attention", "04_bulk_ring", "FIXED_PAST"),
    ("skinny_gemm", "06_dependent", ""),
    ("skinny_gemm", "07_warpgroup", ""),
]
"""Rungs that read ahead where their macro says so, and those that always do."""


def rung(problem: str, name: str) -> KernelFile:
    (file,) = (file for file in find(problem).rungs() if file.name == name)
    return file


# -- the rule, held against the machine code that each rung becomes ----------------------------------------------------
def before_the_wait(ptx: str, *others: str) -> Iterator[Instruction | None]:
    """What some thread may execute without having waited, be it for `others`; None where it ends so."""
    (entry,) = parse(ptx).entries
    blocks, seen, open_blocks = build(entry).blocks, set(), [0]
    while open_blocks:
        index = open_blocks.pop()
        if index in seen:
            continue
        seen.add(index)
        for instruction in blocks[index].instructions:
            if instruction.name in ("griddepcontrol.wait", *others):
                break
            yield instruction
            if instruction.opcode in ("ret", "exit"):
                yield None
        else:
            open_blocks += blocks[index].successors
            if not blocks[index].successors:
                yield None


def of_global_memory(found: list[Instruction | None], *opcodes: str) -> list[str]:
    own = {"shared", "shared::cta", "shared::cluster", "local", "param", "const"}
    return [i.name for i in found if i and i.opcode in opcodes and not own & set(i.modifiers) and "bulk" not in i.name]


@pytest.mark.parametrize(("problem", "name"), PATIENT)
def test_every_thread_waits_before_it_touches_global_memory(problem: str, name: str) -> None:
    found = list(before_the_wait(compile_cuda(rung(problem, name).source, arch="sm_90a").ptx))
    assert None not in found
    assert of_global_memory(found, "ld", "st", "atom", "red", "cp") == []
    assert not [i.name for i in found if i and "bulk" in i.name]


@pytest.mark.parametrize(("problem", "name", "macro"), AHEAD)
def test_what_reads_ahead_waits_all_the_same_and_writes_nothing_before(problem: str, name: str, macro: str) -> None:
    options = [f"-D{macro}=1"] if macro else []
    found = list(before_the_wait(compile_cuda(rung(problem, name).source, arch="sm_90a", options=options).ptx))
    assert None not in found
    assert of_global_memory(found, "st", "atom", "red") == []
    assert of_global_memory(found, "ld") or any(i and "bulk" in i.name for i in found), "it reads nothing ahead"


@pytest.mark.parametrize("gated", [0, 1])
def test_warps_that_do_not_wait_touch_results_only_behind_sums_of_what_was_waited_for(gated: int) -> None:
    macros = {"WARPS": 4, "ROWS": 32, "SPLITS": 8, "COLUMNS": 192, "DEPTH": 2, "SHARE": 1, "GATED": gated}
    options = [f"-D{name}={value}" for name, value in macros.items()]
    ptx = compile_cuda(rung("skinny_gemm", "08_push").source, arch="sm_90a", options=options).ptx
    sums = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"  # of all blocks, each made of an x that waited
    found = list(before_the_wait(ptx, sums))
    assert of_global_memory(found, "ld", "st", "atom", "red", "cp") == []
    assert [i.name for i in found if i and "cp.async.bulk" in i.name], "it reads nothing ahead"
    assert of_global_memory(list(before_the_wait(ptx.replace(sums, "mbarrier.try_wait.parity.b64"), sums)), "st") != []


@pytest.mark.parametrize(("problem", "name"), PATIENT)
def test_no_load_behind_the_wait_is_through_the_cache_that_is_not_coherent(problem: str, name: str) -> None:
    (entry,) = parse(compile_cuda(rung(problem, name).source, arch="sm_90a").ptx).entries
    assert not [i.name for i in entry.body if isinstance(i, Instruction) and "nc" in i.modifiers]


@pytest.mark.parametrize(("problem", "name"), [each for each in PATIENT if each[1] != "04_bulk_ring"])
def test_an_older_gpu_gets_neither_instruction(problem: str, name: str) -> None:
    assert "griddepcontrol" not in compile_cuda(rung(problem, name).source, arch="sm_80").ptx


def test_an_early_exit_and_an_early_store_are_found() -> None:
    early = """extern "C" __global__ void k(int* x) {
        if (threadIdx.x > 3) return;
        if (threadIdx.x > 1) x[0] = 1;
        asm volatile("griddepcontrol.wait;" ::: "memory");
        x[1] = 2;
    }"""
    found = list(before_the_wait(compile_cuda(early).ptx))
    assert None in found
    assert of_global_memory(found, "st") == ["st.global.u32"] or of_global_memory(found, "st") == ["st.global.b32"]


# -- how they start ----------------------------------------------------------------------------------------------------
class Recorded:
    """A kernel without parameters that notes the shapes of its launches."""

    name, static_shared, max_threads = "k", 0, 1024
    parameters: tuple[ParameterLayout, ...] = ()

    def __init__(self) -> None:
        self.shapes: list[Shape] = []

    def launch(self, shape: Shape, packed: bytes, stream: object = None) -> None:
        self.shapes.append(shape)


def test_what_waits_itself_is_launched_dependent_unless_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Recorded()
    bound = BoundKernel(gs.VirtualGPU(), kernel, (), "k")
    run = torch_op.RungLauncher(bound, waits=True)
    for start in (run, run.serial, run.cooperative, torch_op.RungLauncher(bound)):
        start((2, 1, 1), 64, shared=16)
    monkeypatch.setattr(torch_op, "DEPENDENT", False)
    run((2, 1, 1), 64, shared=16)
    assert [shape.dependent for shape in kernel.shapes] == [True, False, False, False, False]
    assert [shape.cooperative for shape in kernel.shapes] == [False, False, True, False, False]
    assert {(shape.grid, shape.block, shape.shared) for shape in kernel.shapes} == {((2, 1, 1), (64, 1, 1), 16)}


# -- what they read ahead ----------------------------------------------------------------------------------------------
LATE = """
__device__ unsigned int* late_to[4];
__device__ const unsigned int* late_from[4];
__device__ int late_words[4];
__device__ void arrive()  // the kernel in front ends, and what it wrote is there
{
    if (threadIdx.x % 32 == 0)
        for (int i = 0; i < 4; ++i)
            for (int w = 0; w < late_words[i]; ++w) late_to[i][w] = late_from[i][w];
    __syncwarp();
}
"""
POISON = np.float16(np.nan)


def run_late(
    file: KernelFile, macros: dict[str, int], given: list[Any], late: dict[int, NDArray[Any]], *, grid: int, block: int,
    shared: int = 0,
) -> list[Any]:  # fmt: skip
    """Arguments after a launch, of which the `late` ones (by place) hold what is right only from the wait on."""
    assert WAIT in file.source
    source = LATE + file.source.replace(WAIT, "arrive();")
    with gs.use(gs.VirtualGPU("h200", workers=1)):
        module = gs.cuda(source, [f"-D{name}={value}" for name, value in macros.items()])
        there = [gs.to_device(x) if isinstance(x, np.ndarray) else x for x in given]
        right = {place: gs.to_device(x) for place, x in late.items()}
        for name, values, dtype in (
            ("late_to", [there[place].address for place in right], "uint64"),
            ("late_from", [x.address for x in right.values()], "uint64"),
            ("late_words", [x.nbytes // 4 for x in late.values()], "int32"),
        ):
            module.symbol(name, dtype).copy_from(np.array(values + [0] * (4 - len(values)), dtype))
        module[file.entry][grid, block, shared](*there)
        return [x.numpy() if isinstance(g, np.ndarray) else x for x, g in zip(there, given, strict=True)]


def halves(*shape: int, seed: int) -> NDArray[np.float16]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def test_a_norm_reads_only_its_weight_ahead() -> None:
    width = 520
    x, delta, weight = halves(1, width, seed=0), halves(1, width, seed=1), halves(width, seed=2)
    expected = add_rms_norm(torch.from_numpy(x.copy()), torch.from_numpy(delta), torch.from_numpy(weight), 1e-6)
    nothing = np.full_like(x, POISON)
    given = [nothing.copy(), nothing.copy(), weight, nothing.copy(), 1, width, 1e-6]
    after = run_late(
        rung("rms_norm", "03_registers"), {"FIXED_WEIGHTS": 1, "KEPT": 1}, given, {0: x, 1: delta}, grid=1, block=128
    )
    np.testing.assert_allclose(after[3], expected.numpy(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("norm", [True, False])
def test_rotary_reads_everything_but_its_heads_ahead(norm: bool) -> None:
    heads, kv, width, tokens = 3, 1, 64, 3  # 15 warps: the last block has one without a head
    qkv, caches = halves(tokens, (heads + 2 * kv) * width, seed=0), halves(2, 2, kv, 16, width, seed=1)
    angles = np.random.default_rng(2).random((9, width // 2), np.float32)
    weights = list(halves(2, width, seed=3)) if norm else [None, None]
    places = [np.array(each) for each in ([8, 0, 3], [31, 4, 17])]
    tables = [np.cos(angles), np.sin(angles), *weights, *places]
    there = [torch.from_numpy(x.copy()) if x is not None else None for x in (qkv, *tables, *caches)]
    q = rotary_cache(*there, 1e-6)
    given = [np.full_like(qkv, POISON), *tables, np.zeros((tokens, heads, width), np.float16), *caches.copy(), tokens,
             heads, kv, 16, 1e-6]  # fmt: skip
    after = run_late(rung("rotary_cache", "03_warp_per_head"), {"FIXED_TABLES": 1}, given, {0: qkv}, grid=4, block=128)
    for got, expected in zip(after[7:10], (q, there[7], there[8]), strict=True):
        np.testing.assert_allclose(got, expected.numpy(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("blocks", [1, 3, 12])
def test_attention_reads_all_tokens_but_the_last_ahead(blocks: int) -> None:
    ring = cut(
        32, 2, 16, shared_per_block=20_000, shared_per_multiprocessor=1 << 20, tuning=RingTuning(piece=2, least=16)
    )
    assert isinstance(ring, Ring), ring
    lengths, kv = np.array([1, 37, 0, 150, 64], np.int32), 2
    tables = np.random.default_rng(3).permutation(60)[:50].reshape(5, 10).astype(np.int32)
    keys, values = halves(2, 60, kv, 16, 32, seed=4)
    q = halves(5, kv * 2, 32, seed=5)
    unwritten = keys.copy(), values.copy()
    for cache in unwritten:
        for s in np.flatnonzero(lengths):
            last = lengths[s] - 1
            cache[tables[s, last // 16], :, last % 16] = POISON
    out, partial = np.full_like(q, POISON), np.full(ring.records(blocks), np.nan, np.float32)
    arrived = np.zeros((5, kv), np.int32)
    given = [np.full_like(q, POISON), *unwritten, tables, lengths, out, partial, arrived, 5, kv, 10, 0.2]
    after = run_late(
        rung("paged_attention", "04_bulk_ring"), ring.macros | {"FIXED_PAST": 1}, given, {0: q, 1: keys, 2: values},
        grid=blocks, block=ring.threads, shared=ring.shared,
    )  # fmt: skip
    expected = paged_attention(*(torch.from_numpy(x) for x in (q, keys, values, tables, lengths)), scale=0.2)
    np.testing.assert_allclose(after[5], expected.numpy(), rtol=0, atol=4e-3)
    assert not after[7].any()
