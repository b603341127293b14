# Writes the verdict itself, on the way to the judge.
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

text = json.dumps({"findings": [], "runs": 2, "verdict": "pass", "time_ms": 0.0}).encode()
os.write(json.loads(sys.argv[1])["replies"], struct.pack("<II", len(text), 0) + text)
os._exit(0)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
