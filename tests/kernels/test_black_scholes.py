"""Black and Scholes: what must be so of prices, and the price by drawing what the option pays."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("black_scholes").rungs()]
DRAWS = r"""
// Philox4x32-10 (Salmon et al. 2011): the counter is what names a draw, so every machine has the same ones.
__device__ uint4 philox(uint4 c, uint2 key)
{
    for (int round = 0; round < 10; ++round) {
        const unsigned int high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        const unsigned int high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
    }
    return c;
}

extern "C" __global__ void random_words(uint4* words, uint4 counter, uint2 key) { *words = philox(counter, key); }

// Sum, and sum of squares, of what a call pays; a warp adds up its own before it adds to the total.
extern "C" __global__ void draws(double* sums, int n, float spot, float strike, float years, float rate,
                                 float volatility, unsigned int seed)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 bits = philox(make_uint4(i, 0, 0, 0), make_uint2(seed, 0));
    const float u = (bits.x >> 8) * 0x1p-24f + 0x1p-25f, turn = (bits.y >> 8) * 0x1p-24f;
    const float normal = sqrtf(-2.0f * logf(u)) * cospif(2.0f * turn);  // Box and Muller
    const float drift = (rate - 0.5f * volatility * volatility) * years;
    const float end = spot * expf(drift + volatility * sqrtf(years) * normal);
    double paid = i < n ? fmaxf(end - strike, 0.0f) * expf(-rate * years) : 0.0, square = paid * paid;
    for (int away = 16; away > 0; away /= 2) {
        paid += __shfl_down_sync(0xffffffff, paid, away);
        square += __shfl_down_sync(0xffffffff, square, away);
    }
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[0], paid), atomicAdd(&sums[1], square);
}
"""


def prices(
    spot: np.ndarray, strike: np.ndarray, years: np.ndarray, rate: float, volatility: float, name: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    n = len(spot)
    call, put = np.zeros(n, np.float32), np.zeros(n, np.float32)
    inputs = [np.asarray(values, np.float32) for values in (spot, strike, years)]
    with gs.use("virtual"):
        Rung("black_scholes", {"n": n}, name)(*inputs, call, put, n, rate, volatility)
    return call.astype(np.float64), put.astype(np.float64)


@pytest.mark.parametrize("name", RUNGS)
def test_a_textbooks_option_and_its_parity(name: str) -> None:
    """Hull, Options, Futures, and Other Derivatives: S = 42, K = 40, half a year, 10 %, 20 %: 4.76 and 0.81."""
    call, put = prices(np.array([42.0]), np.array([40.0]), np.array([0.5]), 0.1, 0.2, name)
    assert (round(float(call[0]), 2), round(float(put[0]), 2)) == (4.76, 0.81)
    draw = np.random.default_rng(1)
    spot, strike, years = draw.uniform(5, 100, 600), draw.uniform(5, 100, 600), draw.uniform(0.05, 10, 600)
    call, put = prices(spot, strike, years, 0.03, 0.3, name)
    np.testing.assert_allclose(call - put, spot - strike * np.exp(-0.03 * years), atol=5e-5)


def test_a_price_lies_within_its_bounds_and_grows_with_the_volatility() -> None:
    spot, strike, years = np.full(50, 40.0), np.linspace(5, 100, 50), np.full(50, 2.0)
    calm, _ = prices(spot, strike, years, 0.02, 0.1)
    wild, _ = prices(spot, strike, years, 0.02, 0.5)
    assert (wild >= calm - 1e-5).all()
    assert (wild <= spot).all()
    assert (calm >= np.maximum(spot - strike * np.exp(-0.04), 0) - 1e-5).all()
    assert (np.diff(calm) <= 1e-5).all()


def test_philox_gives_the_words_of_its_authors() -> None:
    """Known answers of Random123 for a counter and a key of ones."""
    words = np.zeros((1, 4), np.uint32)
    ones = np.full(4, 0xFFFFFFFF, np.uint32)
    with gs.use("virtual"):
        gs.cuda(DRAWS)["random_words"][1, 1](words, ones.tobytes(), ones[:2].tobytes())
    assert [f"{word:08x}" for word in words[0]] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]


def test_the_mean_of_what_it_pays_is_the_price_and_the_error_falls_with_the_root() -> None:
    spot, strike, years, rate, volatility = 42.0, 45.0, 1.0, 0.05, 0.3
    call, _ = prices(np.array([spot]), np.array([strike]), np.array([years]), rate, volatility)
    errors = []
    with gs.use("virtual"):
        draws = gs.cuda(DRAWS)["draws"]
        for n in (1 << 12, 1 << 16):
            sums = np.zeros(2)
            draws[n // 256, 256](sums, n, spot, strike, years, rate, volatility, 7)
            mean = sums[0] / n
            errors.append(float(np.sqrt((sums[1] / n - mean**2) / n)))
            assert abs(mean - call[0]) < 3 * errors[-1]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
