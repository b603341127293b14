# Writes file after file into its own folder.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import os

import triton
import triton.language as tl

for number in range(1_000_000):
    with open(os.environ["TMPDIR"] + f"/{number}", "wb") as file:
        for _ in range(15):
            file.write(bytes(16 << 20))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
