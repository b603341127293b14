# Answers, and answers again before it is asked.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import json
import os
import struct
import sys

import triton
import triton.language as tl

replies = json.loads(sys.argv[1])["replies"]
text = b'{"refused": "no", "line": null}'
os.write(replies, 2 * (struct.pack("<II", len(text), 0) + text))
os._exit(0)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
