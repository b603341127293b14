"""wgmma in whole kernels: hand-written CUDA C++ in both builds, and what the sanitizer says where one is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import warpgroup_kernels as kernels
import wgmma_cases
from warpgroup_kernels import BYTES, EIGHT, HALF, Kind

import gridstride as gs

BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
LIMITS = {HALF: 1e-4, EIGHT: 0.2, BYTES: 0}
"""Largest errors: of 8-bit floats the sums keep 13 digits."""


@BUILDS
@pytest.mark.parametrize("kind", [HALF, EIGHT, BYTES], ids=["f16", "e4m3", "s8"])
def test_a_warp_specialised_matmul(gpu: gs.VirtualGPU, kind: Kind, sanitize: bool) -> None:
    """Five steps through a ring of three, two blocks; the sanitizer has nothing to say."""
    gpu.sanitize = sanitize
    k = 5 * kernels.ROW // np.dtype(kind.dtype).itemsize
    a, b = kernels.numbers(kind, 256, k), kernels.numbers(kind, 128, k, 1)
    c = kernels.run_pipelined(kind, a, b)
    assert abs(c - kernels.reference(kind, a, b)).max() <= LIMITS[kind]


def test_wgmma_counts_as_tensor_work(gpu: gs.VirtualGPU) -> None:
    a, b, c = operands()
    given = (x.view(np.uint8).reshape(-1, 16).view(np.uint32) for x in (a, b))
    run = gs.cuda(kernels.simple(HALF, 8))["simple"].observe(1, 128)(*given, c)
    assert run.findings == ()
    assert run.counters.kinds["tensor"] > 0


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return kernels.numbers(HALF, 64, 64), kernels.numbers(HALF, 8, 64, 1), np.zeros((64, 8), np.float32)


SIMPLE, PIPELINED = kernels.simple(HALF, 8), kernels.pipelined(HALF)
END = "    commit();\n    wait<0>();\n"

WRONG = {
    "results taken without a wait": ("    wait<0>();\n    store", "    store", "wgmma_register", "store"),
    "a kernel that ends without a wait": ("    wait<0>();\n    store", "    store", "wgmma_wait", None),
    "no commit before the wait": ("    commit();\n", "", "wgmma_register", None),
    "no fence at all": ("    fence();\n    for", "    for", "wgmma_fence", "asm volatile(\"{ .reg"),
    "accumulators written after the fence": (
        "    fence();\n    for",
        "    fence();\n    for (int i = 0; i < 4; ++i) d[i] = ((volatile float *)c)[i];\n    for",
        "wgmma_fence", None,
    ),
    "an accumulator changed on the way": (END, END.replace("wait", "d[1] += ((volatile float *)c)[0];\n    wait"),
                                          "wgmma_register", "d[1] +="),
    "operands overwritten on the way": (END, END.replace("wait", "left[threadIdx.x] = a[0];\n    wait"),
                                        "wgmma_operand", "left[threadIdx.x] ="),
    "no proxy fence": ('    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");\n', "", "proxy_fence", None),
    "no barrier after the stores": ("    __syncthreads();\n", "", "race", None),
    "three warps of four": ("    fence();\n    for (int part", "    fence();\n    if (threadIdx.x < 96) for (int part",
                            "wgmma_warps", None),
    "a start in the middle of a row": ("left + 2 * part", "left + 2 * part + 1", "wgmma_descriptor", None),
    "a base offset that nothing asks for": ("descriptor(left + 2 * part)", "(descriptor(left + 2 * part) | 1ull << 49)",
                                            "wgmma_descriptor", None),
    "no stride": ("descriptor(left + 2 * part)", "(descriptor(left + 2 * part) & ~(0x3fffull << 32))",
                  "wgmma_descriptor", None),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_the_sanitizer_finds(gpu: gs.VirtualGPU, what: str) -> None:
    old, new, kind, at = WRONG[what]
    text = SIMPLE.replace(old, new, 1)
    assert text != SIMPLE
    gpu.sanitize = True
    a, b, _ = operands()
    with pytest.raises(gs.KernelFault) as caught:
        kernels.run_simple(HALF, a, b, text)
    found = next((f for f in caught.value.findings if f.kind == kind), None)
    assert found is not None, [f.kind for f in caught.value.findings]
    assert found.line is not None
    if at is not None and at != "store":
        assert at in text.splitlines()[found.line - 1]


def test_a_finding_about_a_descriptor_says_what_the_descriptor_holds(gpu: gs.VirtualGPU) -> None:
    old, new, kind, _ = WRONG["a start in the middle of a row"]
    gpu.sanitize = True
    a, b, _ = operands()
    with pytest.raises(gs.KernelFault) as caught:
        kernels.run_simple(HALF, a, b, SIMPLE.replace(old, new, 1))
    found = next(f for f in caught.value.findings if f.kind == kind)
    assert "starts 112 bytes into a row of 128 bytes" in found.message
    assert found.other is not None
    assert found.other.block == found.block


def test_a_buffer_given_back_before_the_wait_is_found(gpu: gs.VirtualGPU) -> None:
    """The producer brings the next tile into what a wgmma may still read: both lines are named."""
    gpu.sanitize = True
    text = PIPELINED.replace("wait<1>();", "", 1)
    a, b = kernels.numbers(HALF, 128, 384), kernels.numbers(HALF, 128, 384, 1)
    with pytest.raises(gs.KernelFault) as caught:
        kernels.run_pipelined(HALF, a, b, text)
    found = caught.value.findings[0]
    assert found.kind == "wgmma_operand"
    assert "cp.async.bulk" in text.splitlines()[found.line - 1]
    assert found.other is not None
    assert "wgmma.mma_async" in text.splitlines()[found.other.line]


def test_a_block_without_a_whole_warpgroup_is_found(gpu: gs.VirtualGPU) -> None:
    gpu.sanitize = True
    text = SIMPLE.replace("128)", "96)").replace("i += 128", "i += 96")
    kernel = gs.cuda(text)["simple"]
    a, b, c = operands()
    given = [x.view(np.uint8).reshape(-1, 16).view(np.uint32) for x in (a, b)]
    with pytest.raises(gs.KernelFault, match="its threads must be a multiple of 128"):
        kernel[1, 96](*given, c)


IN_TURN = f"""{kernels.HEAD}{kernels.multiply(HALF, 8)}
extern "C" __global__ void in_turn(const uint4 *a, const uint4 *b, Sum *c) {{
    __shared__ __align__(1024) uint4 left[64 * 8], right[8 * 8];
    for (int i = threadIdx.x; i < 64 * 8; i += 128) left[i ^ (i / 8 % 8)] = a[i];
    if (threadIdx.x < 64) right[threadIdx.x ^ (threadIdx.x / 8 % 8)] = b[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    Sum x[4], y[4];
    fence();
    multiply(x, descriptor(left), descriptor(right), 0);
    commit();
    for (int i = 1; i < 4; i += 2) {{
        fence();
        multiply(y, descriptor(left + 2 * i), descriptor(right + 2 * i), 0);
        commit();
        wait<1>();
        store(x, c + (i - 1) * 512, 0, 0, 8);
        if (i == 3) break;
        fence();
        multiply(x, descriptor(left + 2 * i + 2), descriptor(right + 2 * i + 2), 0);
        commit();
        wait<1>();
        store(y, c + i * 512, 0, 0, 8);
    }}
    wait<0>();
    store(y, c + 3 * 512, 0, 0, 8);
}}
"""
"""Four products, a quarter of k each: one is stored while the next is under way."""


def run_in_turn(text: str) -> None:
    a, b, _ = operands()
    c = np.zeros((4, 64, 8), np.float32)
    given = (x.view(np.uint8).reshape(-1, 16).view(np.uint32) for x in (a, b))
    gs.cuda(text)["in_turn"][1, 128](*given, c)
    parts = [a[:, i : i + 16].astype(np.float64) @ b[:, i : i + 16].astype(np.float64).T for i in range(0, 64, 16)]
    np.testing.assert_allclose(c, parts, atol=1e-5)


@BUILDS
def test_two_accumulators_in_turn(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    run_in_turn(IN_TURN)


def test_a_wait_that_leaves_one_group_too_many_is_found(gpu: gs.VirtualGPU) -> None:
    gpu.sanitize = True
    with pytest.raises(gs.KernelFault, match="a register is used that the wgmma in line") as caught:
        run_in_turn(IN_TURN.replace("wait<1>", "wait<2>", 1))
    assert caught.value.kind == "wgmma_register"


@pytest.mark.parametrize(("between", "kinds"), [("add.u32 %a0, %a0, 1;", ["wgmma_register"]),
                                                ("add.u32 %x1, %a0, 1;", [])], ids=["written", "read"])  # fmt: skip
def test_registers_of_a_may_be_read_but_not_written_on_the_way(
    gpu: gs.VirtualGPU, between: str, kinds: list[str]
) -> None:
    case = wgmma_cases.Case(8, "f32", "f16", "f16", None, wgmma_cases.PLAIN, kinds=wgmma_cases.SIMPLE)
    what, d = wgmma_cases.given(case), np.zeros((1, 4, 128), np.uint32)
    text = wgmma_cases.program(case).replace("    wgmma.wait_group", f"    {between}\n    wgmma.wait_group")
    at = case.b_place.descriptor(wgmma_cases.ROOM["a"])
    run = gs.ptx(text)["probe"].observe(1, 128)(what.shared, what.a, what.c, what.meta, d, 0, at)
    assert [f.kind for f in run.findings] == kinds


REWRITTEN = f"""{kernels.HEAD}{kernels.multiply(HALF, 8)}
#include <cuda_fp16.h>
extern "C" __global__ void rewritten(float *c, int rounds, int who) {{
    __shared__ __align__(1024) __half left[64 * 64], right[8 * 64];
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) left[i] = __float2half(1.f);
    for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) right[i] = __float2half(1.f);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    Sum d[4] = {{}};
    for (int round = 0; round < rounds; ++round) {{
        fence();
        multiply(d, descriptor(left), descriptor(right), round > 0);
        commit();
        wait<0>();
        if (threadIdx.x / 32 == who) {{
            for (int i = threadIdx.x % 32; i < 8 * 64; i += 32) right[i] = __float2half(round + 2.f);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }}
    }}
    store(d, c, 0, 0, 8);
}}
"""
"""After each wait one warp rewrites B, with no barrier: ones in the first round, twos in the second and so on."""


@pytest.mark.parametrize("seed", [None, 1, 3, 6])
@pytest.mark.parametrize(("rounds", "total"), [(1, 16), (2, 48), (5, 240)])
def test_operands_may_be_rewritten_after_a_wait_with_no_barrier(rounds: int, total: int, seed: int | None) -> None:
    """As an H200 has it, in 40 of 40 runs: a wait returns when all four warps' products are made."""
    with gs.use(gs.VirtualGPU(workers=1, seed=seed)):
        for who in range(4):
            c = np.zeros((64, 8), np.float32)
            gs.cuda(REWRITTEN)["rewritten"][1, 128](c, rounds, who)
            np.testing.assert_array_equal(c, total)


@pytest.mark.parametrize("seed", [None, 1, 3, 6])
@pytest.mark.parametrize("who", range(4))
def test_a_warp_that_has_waited_may_write_what_all_four_have_read(who: int, seed: int | None) -> None:
    with gs.use(gs.VirtualGPU(workers=1, seed=seed)):
        c = np.zeros((64, 8), np.float32)
        assert gs.cuda(REWRITTEN)["rewritten"].observe(1, 128)(c, 1, who).findings == ()
        np.testing.assert_array_equal(c, 16)


@pytest.mark.parametrize("seed", [None, 1, 3, 6])
@pytest.mark.parametrize("who", range(4))
def test_a_warp_that_has_not_waited_may_not(who: int, seed: int | None) -> None:
    text = REWRITTEN.replace("        wait<0>();\n", f"        if (threadIdx.x / 32 != {who}) wait<0>();\n")
    text = text.replace("    store(d", "    wait<0>();\n    store(d")
    with gs.use(gs.VirtualGPU(workers=1, seed=seed)):
        run = gs.cuda(text)["rewritten"].observe(1, 128)(np.zeros((64, 8), np.float32), 1, who)
    assert {"race", "wgmma_operand"} & {f.kind for f in run.findings}


def test_what_another_warp_stores_needs_a_barrier_before_the_next_wgmma(gpu: gs.VirtualGPU) -> None:
    """PTX orders a warp's own stores before its wgmma, by a proxy fence; nothing orders another warp's."""
    run = gs.cuda(REWRITTEN)["rewritten"].observe(1, 128)(np.zeros((64, 8), np.float32), 2, 1)
    assert {f.kind for f in run.findings} == {"race"}


TWO_LINES = """        if (threadIdx.x / 32 != 2) multiply(d, descriptor(left), descriptor(right), round > 0);
        __syncthreads();
"""


def test_a_warp_that_never_comes_to_the_wgmma_is_a_deadlock_that_says_so(gpu: gs.VirtualGPU) -> None:
    text = REWRITTEN.replace("        multiply(d, descriptor(left), descriptor(right), round > 0);\n", TWO_LINES)
    with pytest.raises(gs.KernelFault, match=r"warps 0, 1, 3 at the wgmma in line \d+ .*all four warps") as caught:
        gs.cuda(text)["rewritten"][1, 128](np.zeros((64, 8), np.float32), 1, 0)
    assert caught.value.kind == "deadlock"


def test_two_warpgroups_do_not_wait_for_one_another(gpu: gs.VirtualGPU) -> None:
    """The second one multiplies only after the first, which meets it at a barrier, has stored its result."""
    text = REWRITTEN.replace("    Sum d[4]", "    if (threadIdx.x >= 128) __syncthreads();\n    Sum d[4]")
    text = text.replace(
        "    store(d, c, 0, 0, 8);",
        "    store(d, c, threadIdx.x / 128 * 64, 0, 8);\n    if (threadIdx.x < 128) __syncthreads();",
    )
    c = np.zeros((128, 8), np.float32)
    gs.cuda(text)["rewritten"][1, 256](c, 2, 99)
    np.testing.assert_array_equal(c, 32)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [HALF, EIGHT, BYTES], ids=["f16", "e4m3", "s8"])
def test_both_machines_agree_bit_for_bit(kind: Kind) -> None:
    k = 4 * kernels.ROW // np.dtype(kind.dtype).itemsize
    a, b = kernels.numbers(kind, 128, k), kernels.numbers(kind, 128, k, 1)
    results = []
    for device in ("physical", "virtual"):
        with gs.use(device):
            results.append(kernels.run_pipelined(kind, a, b))
    np.testing.assert_array_equal(*results)
