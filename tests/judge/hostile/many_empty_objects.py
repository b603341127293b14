# Answers with a million of nothing, each of which takes room in the judge.
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
os.write(replies, struct.pack("<II", 17 + 60_000_000, 0))
text = b'{"refused": [' + b"{}," * 20_000_000 + b"{}]}"
while text:
    text = text[os.write(replies, text[:65536]) :]
os._exit(0)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
