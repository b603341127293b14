# Starts processes, and kills others.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import multiprocessing
import os
import signal
import subprocess

import triton
import triton.language as tl


def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


def fork():
    if os.fork() == 0:
        while True:
            os.fork()


attempt("fork", fork)
attempt("program", lambda: subprocess.run(["/bin/true"]))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("multiprocessing", lambda: multiprocessing.get_context("fork").Process(target=print).start())
attempt("kills the judge", lambda: os.kill(os.getppid(), signal.SIGKILL))
attempt("asks about the judge", lambda: os.kill(os.getppid(), 0))
attempt("kills everybody", lambda: os.kill(-1, signal.SIGKILL))
attempt("a session of its own", os.setsid)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
