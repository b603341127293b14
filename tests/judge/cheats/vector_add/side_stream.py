# Adds on a stream and a thread of its own, so that the timed stream sees only a copy.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: wrong_result
import threading

import triton
import triton.language as tl


def elsewhere():
    try:
        import torch

        with torch.cuda.stream(torch.cuda.Stream()):
            torch.add(1, 2)
    except Exception:
        pass


threading.Thread(target=elsewhere, daemon=True).start()


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n), mask=i < n)
