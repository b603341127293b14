"""What lanes send each other in one vector arrives whole: CUB's look-back has a tile's state and its value in one."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

ROUNDS = 1 << 15
PAIRS, THREADS = 16, 64  # a block that sends beside one that reads, and enough of them for two workers to share
FORMS = {"v2.u32": ("unsigned", "r"), "v4.u32": ("unsigned", "r"), "v2.u64": ("unsigned long long", "l")}
SENDER_AND_READER = """
extern "C" __global__ void k(TYPE* slots, unsigned* torn, unsigned* seen, int rounds)
{
    const int pair = blockIdx.x / 2 * blockDim.x + threadIdx.x;
    TYPE* const slot = slots + WIDTH * pair;
    if (blockIdx.x % 2 == 0) {
        for (TYPE r = 1; r <= rounds; ++r)
            asm volatile("st.ORDER.global.VECTOR [%0], {SENT};" :: "l"(slot), ARGUMENT(r) : "memory");
        return;
    }
    TYPE got[WIDTH];
    unsigned differ = 0, values = 0, last = 0;
    do {
        asm volatile("ld.ORDER.global.VECTOR {READ}, [%WIDTH];" : RESULTS : "l"(slot) : "memory");
        for (int j = 1; j < WIDTH; ++j) differ += got[j] != got[0];
        values += got[0] != last;
        last = got[0];
    } while (last < rounds);
    torn[pair] = differ;
    seen[pair] = values;
}
"""


@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize("order", ["relaxed.gpu", "volatile"])
@pytest.mark.parametrize("vector", FORMS)
def test_no_reader_sees_half_of_what_was_sent(vector: str, order: str, sanitize: bool) -> None:
    type_, letter = FORMS[vector]
    width = int(vector[1])
    source = SENDER_AND_READER
    for name, text in {
        "ORDER": order,
        "VECTOR": vector,
        "SENT": ", ".join(["%1"] * width),
        "READ": ", ".join(f"%{j}" for j in range(width)),
        "RESULTS": ", ".join(f'"={letter}"(got[{j}])' for j in range(width)),
        "ARGUMENT": f'"{letter}"',
        "WIDTH": str(width),
        "TYPE": type_,
    }.items():
        source = source.replace(name, text)
    with gs.use(gs.VirtualGPU(workers=2, sanitize=sanitize)):
        slots = gs.to_device(np.zeros(PAIRS * THREADS * width, np.uint32 if letter == "r" else np.uint64))
        torn, seen = np.full(PAIRS * THREADS, 99, np.uint32), np.zeros(PAIRS * THREADS, np.uint32)
        gs.cuda(source)["k"][2 * PAIRS, THREADS](slots, torn, seen, ROUNDS)
    assert (torn == 0).all()
    assert (seen > 0).all()
