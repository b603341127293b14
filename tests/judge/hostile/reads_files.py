# Reads what is none of its business.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import os
import pathlib

import triton
import triton.language as tl


def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


attempt("/etc/passwd", lambda: open("/etc/passwd").read())
attempt("/etc", lambda: os.listdir("/etc"))
attempt("home", lambda: os.listdir(pathlib.Path("/root")))
attempt("environment of the judge", lambda: open(f"/proc/{os.getppid()}/environ").read())
attempt("memory of the judge", lambda: open(f"/proc/{os.getppid()}/mem", "rb").read(1))
attempt("own memory", lambda: open("/proc/self/mem", "rb").read(1))
attempt(
    "a link",
    lambda: (os.symlink("/etc/passwd", os.environ["TMPDIR"] + "/link"), open(os.environ["TMPDIR"] + "/link").read()),
)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
