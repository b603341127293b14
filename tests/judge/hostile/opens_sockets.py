# Calls home.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import ctypes
import socket

import triton
import triton.language as tl


def attempt(what, attack):
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        return
    raise SystemExit(f"GOT THROUGH: {what}")


attempt("tcp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("pair", lambda: socket.socketpair())
attempt("name service", lambda: socket.create_connection(("localhost", 80), 1))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
