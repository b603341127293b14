"""The system calls that a worker may make, by name with their numbers.

x86-64: arch/x86/entry/syscalls/syscall_64.tbl of the kernel; AArch64: include/uapi/asm-generic/unistd.h. What is not
here is refused: changes to modes and times of files, which Landlock does not govern, locks on files of others, sockets,
new processes and programs, ptrace and its like, mounts, keys, namespaces, io_uring. `truncate` by path is not here, as
Landlock governs it from version 3 only; what a file that may be written is cut to goes through `ftruncate`.
"""

from __future__ import annotations

NONE = -1  # an architecture does without the call: a newer one does its work

# name: (x86-64, AArch64)
PLAIN: dict[str, tuple[int, int]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "stat": (4, NONE), "fstat": (5, 80),
    "lstat": (6, NONE), "poll": (7, NONE), "lseek": (8, 62), "mprotect": (10, 226),
    "munmap": (11, 215), "brk": (12, 214), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66),
    "access": (21, NONE), "select": (23, NONE), "sched_yield": (24, 124), "mremap": (25, 216), "msync": (26, 227),
    "mincore": (27, 232), "dup": (32, 23), "nanosleep": (35, 101), "getpid": (39, 172),
    "exit": (60, 93), "uname": (63, 160), "fsync": (74, 82),
    "fdatasync": (75, 83), "ftruncate": (77, 46), "getcwd": (79, 17), "rename": (82, NONE),
    "mkdir": (83, NONE), "rmdir": (84, NONE), "unlink": (87, NONE), "readlink": (89, NONE), "umask": (95, 166),
    "gettimeofday": (96, 169), "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179),
    "times": (100, 153), "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177),
    "getppid": (110, 173), "sigaltstack": (131, 132), "statfs": (137, 43), "fstatfs": (138, 44), "gettid": (186, 178),
    "futex": (202, 98), "sched_getaffinity": (204, 123), "getdents64": (217, 61), "set_tid_address": (218, 96),
    "restart_syscall": (219, 128), "fadvise64": (221, 223), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "exit_group": (231, 94), "mkdirat": (258, 34),
    "newfstatat": (262, 79), "unlinkat": (263, 35), "renameat": (264, 38), "readlinkat": (267, 78),
    "faccessat": (269, 48), "pselect6": (270, 72), "ppoll": (271, 73), "set_robust_list": (273, 99),
    "dup3": (292, 24), "getcpu": (309, 168), "renameat2": (316, 276), "getrandom": (318, 278),
    "membarrier": (324, 283), "statx": (332, 291), "rseq": (334, 293), "faccessat2": (439, 439), "pipe": (22, NONE),
    "pipe2": (293, 59),
}  # fmt: skip

# Calls that are allowed for some arguments only; seccomp.py says which.
OPEN = (2, NONE)
OPENAT = (257, 56)
MMAP = (9, 222)
FCNTL = (72, 25)
MADVISE = (28, 233)
CLONE = (56, 220)
CLONE3 = (435, 435)
IOCTL = (16, 29)
PRCTL = (157, 167)
PRLIMIT64 = (302, 261)
KILL = (62, 129)
TGKILL = (234, 131)
