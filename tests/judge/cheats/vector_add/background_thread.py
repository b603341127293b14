# A background thread finishes the output after the clock was stopped.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: wrong_result
import sys
import threading
import time

import numpy as np
import triton
import triton.language as tl


def finish():
    while True:
        for frame in list(sys._current_frames().values()):
            for each in list(frame.f_locals.values()):
                if isinstance(each, np.ndarray) and each.flags.writeable:
                    each[...] = 0
        time.sleep(0.01)


threading.Thread(target=finish, daemon=True).start()


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n), mask=i < n)
