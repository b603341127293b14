# Looks through all objects of the process for expected values, seeds and whoever compares.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: wrong_result
import contextlib
import gc
import sys

import numpy as np
import triton
import triton.language as tl

for each in gc.get_objects():
    names = getattr(each, "__dict__", None)
    if isinstance(names, dict):
        for name in ("expected", "reference", "bound", "norm_bound", "passed", "seed"):
            if name in names:
                with contextlib.suppress(TypeError):
                    names[name] = None
for name, module in list(sys.modules.items()):
    if name.startswith("gridstride"):
        for function in ("compare", "verify", "deviation", "never_written"):
            if hasattr(module, function):
                setattr(module, function, lambda *_, **__: ())
np.array_equal = np.allclose = lambda *_, **__: True


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n), mask=i < n)
