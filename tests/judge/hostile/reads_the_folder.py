# Tells what lies in the folders that modules are looked for in.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import os
import pathlib
import sys

import triton
import triton.language as tl

told = []
for folder in {os.path.abspath(each) for each in sys.path}:
    try:
        told.append(pathlib.Path(folder, "secret.txt").read_text())
    except OSError:
        pass
try:
    import told as module

    told.append(module.SECRET)
except ImportError:
    pass
raise SystemExit(f"it says {told}")


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
