"""Launches as Triton's runtime asks for them: grids, views of storages, hooks, faults, and what is refused."""

from __future__ import annotations

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import numpy as np
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.usefixtures("triton_here")


@triton.jit
def scale_kernel(x_ptr, y_ptr, stride, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride, mask=i < n, other=0.0)
    tl.store(y_ptr + i * stride, x * factor, mask=i < n)


@pytest.mark.parametrize("grid", [(4,), [4], (4, 1, 1), lambda meta: (triton.cdiv(100, meta["BLOCK"]),)])
def test_grids_are_tuples_lists_and_functions(grid) -> None:
    x, y = torch.arange(100.0), torch.zeros(100)
    scale_kernel[grid](x, y, 1, 100, 2.5, BLOCK=32)
    assert torch.equal(y, 2.5 * x)


def test_an_empty_grid_runs_nothing() -> None:
    x = torch.ones(8)
    scale_kernel[(0,)](x, x, 1, 8, 2.0, BLOCK=32)
    assert torch.equal(x, torch.ones(8))


def test_views_of_one_storage_alias() -> None:
    matrix = torch.arange(24.0).reshape(6, 4)
    wanted = matrix.clone()
    wanted[:, 3] = -wanted[:, 1]
    scale_kernel[(1,)](matrix[:, 1], matrix[:, 3], 4, 6, -1.0, BLOCK=8)
    assert torch.equal(matrix, wanted)


@triton.jit
def shift_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.debug_barrier()
    tl.store(y_ptr + i, x)


def test_views_that_overlap_in_memory_of_numpy() -> None:
    own = np.arange(65, dtype=np.float32)
    shift_kernel[(1,)](torch.from_numpy(own[:64]), torch.from_numpy(own[1:]), BLOCK=64)
    np.testing.assert_array_equal(own, [0, *range(64)])


@pytest.mark.parametrize("skew", range(0, 17, 4))
def test_alignment_is_that_of_the_host(skew: int) -> None:
    raw = np.zeros(4 * 64 + 64, np.uint8)
    start = -raw.ctypes.data % 16 + skew  # Triton loads 16 bytes at once where the address allows it
    x = torch.from_numpy(raw[start % 64 : start % 64 + 256].view(np.float32))
    part, y = x.copy_(torch.arange(64.0)), torch.zeros(60)
    scale_kernel[(1,)](part[4:], y, 1, 60, 1.0, BLOCK=64)
    assert torch.equal(y, torch.arange(4.0, 64.0))


def test_hooks_run_before_a_kernel() -> None:
    seen = []

    @triton.jit
    def hooked(x_ptr):
        tl.store(x_ptr, 1.0)

    hooked.add_pre_run_hook(lambda *args, **named: seen.append("before"))
    x = torch.zeros(1)
    triton.knobs.runtime.launch_enter_hook.add(enter := lambda data: seen.append(data.get()["name"]))
    try:
        hooked[(1,)](x)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
    assert seen == ["before", "hooked"]
    assert x.item() == 1


def test_a_write_out_of_bounds_names_the_array_and_the_line() -> None:
    x, y = torch.zeros(64), torch.zeros(64)
    with pytest.raises(gs.KernelFault, match=r"out of bounds in kernel scale_kernel: .* at y_ptr\[64\]") as caught:
        scale_kernel[(1,)](torch.zeros(256), y, 1, 256, 1.0, BLOCK=256)
    assert caught.value.file == __file__
    assert caught.value.line == scale_kernel.starting_line_number + 4
    scale_kernel[(1,)](x + 1, y, 1, 64, 3.0, BLOCK=64)  # and the next launch is as if nothing had been
    assert torch.equal(y, torch.full((64,), 3.0))


def test_what_is_no_tensor_of_the_host_is_refused() -> None:
    y = torch.zeros(8)
    with pytest.raises(gs.LaunchError, match=r"scale_kernel: x_ptr is on meta, .*: pass a CPU tensor"):
        scale_kernel[(1,)](torch.empty(8, device="meta"), y, 1, 8, 1.0, BLOCK=8)
    with pytest.raises(TypeError, match="ndarray"):
        scale_kernel[(1,)](np.zeros(8), y, 1, 8, 1.0, BLOCK=8)
    with pytest.raises(TypeError, match="BLOCK"):
        scale_kernel[(1,)](y, y, 1, 8, 1.0)
    with pytest.raises(gs.LaunchError, match=r"grid\.y = 70000 is above"):
        scale_kernel[(1, 70_000)](y, y, 1, 8, 1.0, BLOCK=8)


def test_too_much_shared_memory_is_refused_by_triton() -> None:
    @triton.jit
    def large(x_ptr, y_ptr, N: tl.constexpr):
        i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
        x = tl.load(x_ptr + i * N + j)
        tl.store(y_ptr + i * N + j, tl.dot(x, tl.trans(x)))

    x = torch.zeros(256, 256)
    with pytest.raises(triton.runtime.errors.OutOfResources, match="shared memory"):
        large[(1,)](x, x.clone(), N=256, num_warps=8)


def test_an_older_chip_has_kernels_of_its_own() -> None:
    x, y = torch.arange(32.0), torch.zeros(32)
    scale_kernel[(1,)](x, y, 1, 32, 2.0, BLOCK=32)
    with gs.use(gs.VirtualGPU("a100", workers=1)):
        assert triton.runtime.driver.active.get_current_target().arch == 80
        scale_kernel[(1,)](x, y, 1, 32, 4.0, BLOCK=32)
    assert torch.equal(y, 4 * x)


@pytest.mark.parametrize("options", [{"num_ctas": 2}, {"launch_cooperative_grid": True}, {"num_stages": 1}], ids=str)
def test_clusters_and_cooperative_grids(options) -> None:
    x, y = torch.arange(512.0), torch.zeros(512)
    scale_kernel[(2,)](x, y, 1, 512, 2.0, BLOCK=256, **options)
    assert torch.equal(y, 2 * x)


@triton.jit(noinline=True)
def plus_one(x):
    return x + 1


@triton.jit
def printing_kernel(x_ptr, count_ptr, n):
    i = tl.program_id(0)
    tl.atomic_add(count_ptr, 1)
    tl.device_print("seen", plus_one(tl.load(x_ptr + i)))
    tl.device_assert(i < n, "too many programs")


def test_prints_asserts_and_atomics(capfd: pytest.CaptureFixture[str]) -> None:
    x, count = torch.tensor([5, 6]), torch.zeros(1, dtype=torch.int32)
    printing_kernel[(2,)](x, count, 2, num_warps=1)
    assert count.item() == 2
    assert {line.split()[-1] for line in capfd.readouterr().out.splitlines() if "seen" in line} == {"6", "7"}
    with pytest.raises(gs.KernelFault, match="too many programs"):
        printing_kernel[(2,)](x, count, 1, num_warps=1, debug=True)


def test_launches_under_torch_compile_end_the_graph() -> None:
    def scaled(x):
        y = torch.zeros_like(x)
        scale_kernel[(1,)](x, y, 1, x.numel(), 3.0, BLOCK=64)
        return y + 1

    x = torch.arange(50.0)
    assert torch.equal(torch.compile(scaled, backend="eager")(x), 3 * x + 1)
    torch._dynamo.reset()


@triton.jit
def racing_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * BLOCK // 2 + tl.arange(0, BLOCK), tl.program_id(0).to(tl.float32))


def test_the_sanitizer_sees_what_programs_do_to_one_another() -> None:
    with gs.use(gs.VirtualGPU(sanitize=True, workers=1)), pytest.raises(gs.KernelFault, match="race") as caught:
        racing_kernel[(4,)](torch.zeros(256), BLOCK=64)
    assert caught.value.line == racing_kernel.starting_line_number + 2
