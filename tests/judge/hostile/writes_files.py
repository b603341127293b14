# Writes where it should not.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import os
import sys

import triton
import triton.language as tl


def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


attempt("/tmp", lambda: open("/tmp/gridstride_hostile", "w"))
attempt("its own package", lambda: open(os.path.dirname(triton.__file__) + "/hostile.py", "w"))
attempt("the judge", lambda: open(os.path.dirname(sys.modules["gridstride"].__file__) + "/hostile.py", "w"))
attempt("mode of the judge", lambda: os.chmod(os.path.dirname(sys.modules["gridstride"].__file__) + "/cli.py", 0o777))
attempt("shared memory", lambda: open("/dev/shm/hostile", "w"))
attempt("removes", lambda: os.unlink(sys.modules["gridstride"].__file__))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
