# Holds files that no folder lists, so that nobody counts them.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import os

import triton
import triton.language as tl

def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


HERE = os.environ["TMPDIR"]
kept = [open(f"{HERE}/one", "wb")]
attempt("unlink", lambda: os.unlink(f"{HERE}/one"))
attempt("rename over", lambda: (open(f"{HERE}/two", "wb"), os.replace(f"{HERE}/two", f"{HERE}/one")))
attempt("O_TMPFILE", lambda: os.open(HERE, os.O_TMPFILE | os.O_RDWR))
attempt("memfd", lambda: os.memfd_create("nameless"))
attempt("link", lambda: os.link(f"{HERE}/one", f"{HERE}/other"))
attempt("fifo", lambda: os.mkfifo(f"{HERE}/fifo"))
attempt("symlink", lambda: os.symlink("/", f"{HERE}/root"))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
