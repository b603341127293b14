# Takes memory that no process seems to hold: shared, filled, and unmapped page by page.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import mmap
import os

import triton
import triton.language as tl

def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


def hide(descriptor=-1):
    shared = mmap.mmap(descriptor, 1 << 30)
    for start in range(0, 1 << 30, 1 << 24):
        shared[start : start + (1 << 24)] = bytes(1 << 24)
        shared.madvise(mmap.MADV_DONTNEED)


attempt("shared memory", hide)
attempt("memory of /dev/zero", lambda: hide(os.open("/dev/zero", os.O_RDWR)))
attempt("advice to push it out", lambda: mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE).madvise(21))
attempt("huge pages", lambda: mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
