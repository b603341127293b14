# Starts threads until there are none left.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import threading
import time

import triton
import triton.language as tl

while True:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
