"""Numba kernels as its manual teaches them, written anew, against NumPy in both builds.

Those of the other Numba tests (addition, reduction, atomics, halves, a grid that meets) are not repeated here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import gridstride as gs

pytest.importorskip("numba_cuda", reason="Numba's CUDA compiler is not installed: pip install 'numba-cuda[cu13]'")
from numba import cuda, float32, int32, uint32, uint64

RNG = np.random.default_rng(5)
TILE = 8


@pytest.fixture(params=["fast", "observed", pytest.param("physical", marks=pytest.mark.gpu)], autouse=True)
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The two builds of the virtual GPU, and the physical one."""
    kind = request.param
    made = "physical" if kind == "physical" else gs.VirtualGPU(workers=2, time_limit=20, sanitize=kind == "observed")
    with gs.use(made):
        yield kind


def matmul(a, b, c):
    """Ragged edges are filled with zeros in shared memory."""
    left, right = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < a.shape[0] and tx + step * TILE < a.shape[1]:
            left[ty, tx] = a[y, tx + step * TILE]
        if x < b.shape[1] and ty + step * TILE < b.shape[0]:
            right[ty, tx] = b[ty + step * TILE, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def test_a_matmul_through_shared_memory() -> None:
    kernel = gs.numba(matmul, "void(float32[:,::1], float32[:,::1], float32[:,::1])")["matmul"]
    a, b = RNG.random((21, 30), np.float32), RNG.random((30, 19), np.float32)
    c = np.zeros((21, 19), np.float32)
    kernel[(3, 3), (TILE, TILE)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def matmul_without_the_second_barrier(a, b, c):
    left, right = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for step in range(a.shape[1] // TILE):
        left[ty, tx] = a[y, tx + step * TILE]
        right[ty, tx] = b[ty + step * TILE, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
    c[y, x] = total


def test_a_matmul_that_forgets_a_barrier_is_found(machine: str) -> None:
    if machine != "observed":
        pytest.skip("only the sanitizer looks")
    name = "matmul_without_the_second_barrier"
    kernel = gs.numba(matmul_without_the_second_barrier, "void(float32[:,::1], float32[:,::1], float32[:,::1])")[name]
    a = RNG.random((16, 16), np.float32)
    with pytest.raises(gs.KernelFault, match="race"):
        kernel[(2, 2), (TILE, TILE)](a, a.copy(), a.copy())


def laplace(grid, new, error):
    """One step of Jacobi's method, and the largest change of each block."""
    changes = cuda.shared.array(64, float32)
    t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    j, i = cuda.grid(2)
    changes[t] = 0
    if 1 <= i < grid.shape[0] - 1 and 1 <= j < grid.shape[1] - 1:
        new[i, j] = 0.25 * (grid[i + 1, j] + grid[i - 1, j] + grid[i, j + 1] + grid[i, j - 1])
        changes[t] = abs(new[i, j] - grid[i, j])
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            changes[t] = max(changes[t], changes[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.max(error, 0, changes[0])


def test_heat_in_a_plate() -> None:
    kernel = gs.numba(laplace, "void(float32[:,:], float32[:,:], float32[:])")["laplace"]
    plate = np.zeros((20, 24), np.float32)
    plate[0] = 1
    want = plate.copy()
    old, new = gs.to_device(plate), gs.to_device(plate)
    for _ in range(6):
        error = np.zeros(1, np.float32)
        kernel[(3, 3), (8, 8)](old, new, error)
        old, new = new, old
        inner = 0.25 * (want[2:, 1:-1] + want[:-2, 1:-1] + want[1:-1, 2:] + want[1:-1, :-2])
        change = abs(inner - want[1:-1, 1:-1]).max()
        want[1:-1, 1:-1] = inner
        np.testing.assert_allclose(error[0], change, rtol=1e-5)
    np.testing.assert_allclose(old.numpy(), want, rtol=1e-5)


@cuda.jit(device=True)
def neighbours(board, i, j):
    above, left = i - 1 if i > 0 else board.shape[0] - 1, j - 1 if j > 0 else board.shape[1] - 1
    below, right = i + 1 if i + 1 < board.shape[0] else 0, j + 1 if j + 1 < board.shape[1] else 0
    beside = board[i, left] + board[i, right]
    return (
        beside
        + board[above, left]
        + board[above, j]
        + board[above, right]
        + (board[below, left] + board[below, j] + board[below, right])
    )


def life(a, b, turns):
    """All turns in one launch: the grid meets between them."""
    grid = cuda.cg.this_grid()
    first = cuda.grid(1)
    for turn in range(turns):
        for at in range(first, a.size, cuda.gridsize(1)):
            i, j = at // a.shape[1], at % a.shape[1]
            if turn % 2 == 0:
                n = neighbours(a, i, j)
                b[i, j] = 1 if n == 3 or (n == 2 and a[i, j]) else 0
            else:
                n = neighbours(b, i, j)
                a[i, j] = 1 if n == 3 or (n == 2 and b[i, j]) else 0
        grid.sync()


def test_the_game_of_life_in_one_cooperative_launch() -> None:
    kernel = gs.numba(life, "void(int32[:,::1], int32[:,::1], int32)")["life"]
    board = RNG.integers(0, 2, (16, 20)).astype(np.int32)
    a, b, want = board.copy(), np.zeros_like(board), board
    kernel[3, 64](a, b, 6)
    for _ in range(6):
        n = sum(np.roll(want, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - want
        want = ((n == 3) | ((n == 2) & (want == 1))).astype(np.int32)
    assert (a == want).all()


@cuda.jit(device=True)
def draw(state, i):
    """One step of xoroshiro128+, David Blackman and Sebastiano Vigna, 2018."""
    a, b = state[i, 0], state[i, 1]
    result = a + b
    b ^= a
    state[i, 0] = (uint64((a << uint64(24)) | (a >> uint64(40)))) ^ b ^ (b << uint64(16))
    state[i, 1] = uint64((b << uint64(37)) | (b >> uint64(27)))
    return result


def points(state, inside, rounds):
    i = cuda.grid(1)
    if i >= state.shape[0]:
        return
    count = int32(0)
    for _ in range(rounds):
        x = (draw(state, i) >> uint64(11)) * 2.0**-53
        y = (draw(state, i) >> uint64(11)) * 2.0**-53
        if x * x + y * y <= 1:
            count += 1
    cuda.atomic.add(inside, 0, count)


def test_pi_from_a_generator_for_each_thread() -> None:
    kernel = gs.numba(points, "void(uint64[:,::1], int32[::1], int32)")["points"]
    state = np.random.default_rng(9).integers(1, 1 << 63, (200, 2)).astype(np.uint64)
    mine, inside = state.copy(), np.zeros(1, np.int32)
    kernel[2, 128](mine, inside, 50)

    def step() -> np.ndarray:
        nonlocal a, b
        result = a + b
        b = b ^ a
        a, b = (
            ((a << np.uint64(24)) | (a >> np.uint64(40))) ^ b ^ (b << np.uint64(16)),
            ((b << np.uint64(37)) | (b >> np.uint64(27))),
        )
        return (result >> np.uint64(11)) * 2.0**-53

    a, b = state.T
    want = sum(int((step() ** 2 + step() ** 2 <= 1).sum()) for _ in range(50))
    assert inside[0] == want
    assert (mine == np.stack([a, b], 1)).all()


def sessions(times, ends, result, timeout):
    """Clicks belong to one session until there is a pause: the first click of each is found, then handed on."""
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    result[i] = i
    if i > 0 and times[i] - times[i - 1] <= timeout:
        result[i] = -1
    grid.sync()
    at = i
    while result[at] == -1:
        at -= 1
    first = result[at]
    grid.sync()
    result[i] = first
    ends[i] = i == times.size - 1 or times[i + 1] - times[i] > timeout


def test_clicks_are_put_into_sessions() -> None:
    kernel = gs.numba(sessions, "void(int32[::1], int32[::1], int32[::1], int32)")["sessions"]
    times = np.cumsum(RNG.integers(1, 20, 128)).astype(np.int32)
    ends, result = np.zeros(128, np.int32), np.zeros(128, np.int32)
    kernel[2, 64](times, ends, result, 14)
    new = np.concatenate([[True], np.diff(times) > 14])
    assert (result == np.maximum.accumulate(np.where(new, np.arange(128), 0))).all()
    assert (ends == np.concatenate([new[1:], [True]])).all()


@cuda.jit(device=True)
def is_prime(n):
    if n < 2:
        return False
    for d in range(2, int(math.sqrt(float(n))) + 1):  # noqa: SIM110  (device code has no all())
        if n % d == 0:
            return False
    return True


def primes(found, bits):
    i = cuda.grid(1)
    ballot = cuda.ballot_sync(0xFFFFFFFF, is_prime(i))
    if is_prime(i):
        found[i] = cuda.popc(ballot & ((uint32(1) << cuda.laneid) - 1)) + 1
    if cuda.laneid == 0:
        bits[i // 32] = ballot


def test_votes_over_what_a_device_function_says() -> None:
    kernel = gs.numba(primes, "void(int32[::1], uint32[::1])")["primes"]
    found, bits = np.zeros(256, np.int32), np.zeros(8, np.uint32)
    kernel[2, 128](found, bits)
    want = np.array([n > 1 and all(n % d for d in range(2, n)) for n in range(256)])
    assert (np.unpackbits(bits.view(np.uint8), bitorder="little") == want).all()
    assert (found == np.where(want, np.cumsum(want.reshape(8, 32), 1).reshape(-1), 0)).all()
