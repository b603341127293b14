"""A mount namespace: a process sees the paths it is given, and of nothing else of the file system that it is there.

Landlock and seccomp say what may be done with a file; whether one exists, its size and its dates are seen by `stat`
all the same. Here the root is an empty folder in memory into which the allowed paths are mounted where they were.
Unprivileged user namespaces are needed, which some systems and most containers do not offer: namespaces(7),
user_namespaces(7), pivot_root(2).
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterable
from pathlib import Path

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000  # CLONE_NEWNS, CLONE_NEWUSER
_NO_SUID, _NO_DEVICES, _BIND, _RECURSIVE, _PRIVATE = 1 << 1, 1 << 2, 1 << 12, 1 << 14, 1 << 18
_DETACH = 2  # MNT_DETACH
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_DUMPABLE = 4  # PR_SET_DUMPABLE
_ROOT = "size=4m,nr_inodes=16k,mode=755"  # mount points only


def enter(paths: Iterable[str], scratch: str, *, nbytes: int, inodes: int) -> bool:
    """Leave the file system for one of these paths, and of a fresh folder in memory at `scratch`, bounded in bytes and
    files; False where the system does not allow it, and then nothing that matters has changed.

    Needs a process of one thread. What asks for a parent's death signal must ask again.
    """
    if platform.machine() not in _PIVOT_ROOT or not _unshared():
        return False
    try:
        _mount("none", "/", "", _RECURSIVE | _PRIVATE)
        _mount("tmpfs", scratch, "tmpfs", _NO_SUID | _NO_DEVICES, _ROOT)
    except OSError:
        return False
    try:
        for path in sorted(set(paths)):  # a folder before what lies in it
            _bind(path, f"{scratch}{path}")
        inner = Path(f"{scratch}{scratch}")
        inner.mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", str(inner), "tmpfs", _NO_SUID | _NO_DEVICES, f"size={nbytes},nr_inodes={inodes},mode=700")
        os.chdir(scratch)
        _checked(_library().syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
        _checked(_library().umount2(b".", _DETACH), "umount2")
    except OSError:
        _library().umount2(scratch.encode(), _DETACH)
        return False
    os.chdir(scratch)
    return True


def drop_capabilities() -> None:
    """Give up what root may do beyond the files that it owns; OSError where the kernel refuses."""
    number = _CAPSET.get(platform.machine())
    if number is None:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_library().syscall(number, ctypes.byref(header), ctypes.byref(nothing)), "capset")


def _unshared() -> bool:
    """Namespaces of users and mounts of the process' own, in which it is the user that it was."""
    user, group = os.geteuid(), os.getegid()
    library = _library()
    if library.unshare(_NEW_USER | _NEW_MOUNTS):
        return False
    library.prctl(_DUMPABLE, 1, 0, 0, 0)  # the files below belong to root otherwise
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    except OSError:
        return False
    finally:
        library.prctl(_DUMPABLE, 0, 0, 0, 0)
    return True


def _bind(source: str, target: str) -> None:
    """Mount what is at `source` at `target`, too; one that is not there, or that this user may not see, is left out."""
    try:
        real = os.path.realpath(source, strict=True)
        os.stat(real)
    except OSError:
        return
    if os.path.lexists(target):  # below one that is mounted already
        return
    if os.path.isdir(real):
        os.makedirs(target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    _mount(real, target, "", _BIND | _RECURSIVE)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    _checked(_library().mount(*arguments), f"mount {target}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
