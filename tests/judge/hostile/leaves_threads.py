# Leaves threads behind that go on for ever.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import threading
import time

import triton
import triton.language as tl


def stay():
    while True:
        time.sleep(0.01)


for _ in range(8):
    threading.Thread(target=stay).start()


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
