# Has the kernel send signals for it, by a descriptor that somebody else owns.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import fcntl
import os
import signal
import struct

import triton
import triton.language as tl

def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


F_SETOWN_EX = 15
parent = os.getppid()
attempt("F_SETOWN", lambda: fcntl.fcntl(0, fcntl.F_SETOWN, parent))
attempt("F_SETOWN of its group", lambda: fcntl.fcntl(0, fcntl.F_SETOWN, -parent))
attempt("F_SETOWN_EX", lambda: fcntl.fcntl(0, F_SETOWN_EX, struct.pack("ii", 1, parent)))
attempt("F_SETSIG", lambda: fcntl.fcntl(0, fcntl.F_SETSIG, signal.SIGURG))
attempt("O_ASYNC", lambda: fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC))
attempt("FIOASYNC", lambda: fcntl.ioctl(0, 0x5452, struct.pack("i", 1)))
attempt("FIOSETOWN", lambda: fcntl.ioctl(0, 0x8901, struct.pack("i", parent)))
attempt("F_NOTIFY", lambda: fcntl.fcntl(os.open(os.environ["TMPDIR"], os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE))
attempt("F_SETLEASE", lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt("F_SETPIPE_SZ", lambda: fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 1 << 20))
attempt("flock", lambda: fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX))
attempt("F_SETLK", lambda: fcntl.lockf(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_SH))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
