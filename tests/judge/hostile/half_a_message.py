# Sends half of a reply and no more.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import json
import os
import struct
import sys
import time

import triton
import triton.language as tl

replies = json.loads(sys.argv[1])["replies"]
os.write(replies, struct.pack("<II", 100, 0) + b'{"refused": "')
time.sleep(1000)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
