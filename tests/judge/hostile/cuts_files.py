# Empties a file of somebody else's, in every way that there is to cut one.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import ctypes
import os
import platform

import triton
import triton.language as tl

def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


library = ctypes.CDLL(None, use_errno=True)
TRUNCATE = {"x86_64": 76, "aarch64": 45}[platform.machine()]


def truncate():
    if library.syscall(TRUNCATE, VICTIM.encode(), 0):
        raise OSError(ctypes.get_errno(), "truncate")


VICTIM = "/tmp/gridstride_hostile_victim"  # of the test, which looks at it afterwards
attempt("truncate", truncate)
attempt("os.truncate", lambda: os.truncate(VICTIM, 0))
attempt("O_TRUNC to read", lambda: os.open(VICTIM, os.O_RDONLY | os.O_TRUNC))
attempt("O_TRUNC to write", lambda: os.open(VICTIM, os.O_WRONLY | os.O_TRUNC))
attempt("O_TRUNC for neither", lambda: os.open(VICTIM, 3 | os.O_TRUNC))
attempt("for neither", lambda: os.open(VICTIM, 3))
attempt("O_PATH", lambda: os.open(VICTIM, os.O_PATH))
attempt("rename over it", lambda: (open(os.environ["TMPDIR"] + "/new", "w"), os.rename(os.environ["TMPDIR"] + "/new", VICTIM)))
attempt("link to it", lambda: os.link(VICTIM, os.environ["TMPDIR"] + "/link"))
attempt("its date", lambda: os.utime(VICTIM))
attempt("its mode", lambda: os.chmod(VICTIM, 0o777))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
