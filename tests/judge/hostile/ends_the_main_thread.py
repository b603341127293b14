# Ends its main thread, whose memory the system then gives as none, and takes memory in another.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import ctypes
import platform
import threading
import time

import triton
import triton.language as tl

kept = []


def take():
    time.sleep(0.2)
    for _ in range(40):
        kept.append(bytearray(64 << 20))
        time.sleep(0.05)
    time.sleep(1000)


threading.Thread(target=take).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
