# Closes the pipe that its reply is awaited on, and sleeps.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import json
import os
import sys
import time

import triton
import triton.language as tl

os.close(json.loads(sys.argv[1])["replies"])
time.sleep(1000)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
