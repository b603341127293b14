# Looks into other processes and into the kernel.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import ctypes
import os

import triton
import triton.language as tl

library = ctypes.CDLL(None, use_errno=True)


def refused(what, *call):
    if library.syscall(*map(ctypes.c_long, call)) >= 0:
        raise SystemExit(f"GOT THROUGH: {what}")


parent = os.getppid()
refused("ptrace", 101, 16, parent, 0, 0)
refused("process_vm_readv", 310, parent, 0, 0, 0, 0, 0)
refused("pidfd_open", 434, parent, 0)
refused("mount", 165, 0, 0, 0, 0, 0)
refused("unshare", 272, 0x10000000)
refused("keyctl", 250, 0, 0)
refused("bpf", 321, 0, 0, 0)
refused("perf_event_open", 298, 0, 0, 0, 0, 0)
refused("io_uring_setup", 425, 1, 0)
refused("userfaultfd", 323, 0)
refused("memfd_create", 319, 0, 0)
refused("prlimit of the judge", 302, parent, 7, os.getpid(), 0)
refused("x32 fork", 0x40000000 + 57)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
