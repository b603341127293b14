"""The disk cache: whole entries or none, shared by processes, and never a reason to fail."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.compiler import Compiled, DiskCache, compile_cuda

SOURCE = "template <int N> __global__ void k(int* x) { *x = N; }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compiled() -> Compiled:
    return compile_cuda(SOURCE, names=["k<7>"])


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@given(key=st.text(), data=st.binary())
def test_what_was_put_is_got(key: str, data: bytes) -> None:
    cache = DiskCache("law")
    cache.put(key, data)
    assert cache.get(key) == data


def test_what_was_not_put_is_none(folder: Path) -> None:
    assert DiskCache("none").get("key") is None
    assert not folder.exists()


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b"", lambda b: b[:-1] + b"\xff"])
def test_a_damaged_entry_is_a_miss(folder: Path, damage) -> None:  # type: ignore[no-untyped-def]
    cache = DiskCache("damaged")
    cache.put("key", b"data")
    path = cache.path("key")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key") is None


def test_a_damaged_entry_is_compiled_again_and_mended(folder: Path) -> None:
    first = compiled()
    (entry,) = entries(folder)
    entry.write_bytes(b"garbage")
    assert compiled() == first
    assert entry.read_bytes() != b"garbage"


def test_a_hit_equals_what_was_compiled(folder: Path) -> None:
    assert compiled() == compiled()
    assert len(entries(folder)) == 1


@pytest.mark.parametrize(
    "change",
    [{"arch": "sm_80"}, {"options": ["--fmad=false"]}, {"names": ["k<8>"]}, {"filename": "other.cu"}],
)
def test_whatever_changes_the_result_changes_the_entry(folder: Path, change: dict[str, object]) -> None:
    compiled()
    compile_cuda(SOURCE, **{"names": ["k<7>"], **change})  # type: ignore[arg-type]
    assert len(entries(folder)) == 2


def test_another_compiler_version_changes_the_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.setattr("gridstride.compiler.nvrtc.nvrtc_compile.distribution_version", lambda name: "99.0")
    compiled()
    assert len(entries(folder)) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "file" / "cache"))
    assert ".entry" in compiled().ptx


def test_a_full_disk_costs_only_time_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert ".entry" in compiled().ptx
    assert entries(folder) == []


def test_a_folder_in_the_place_of_an_entry_is_a_miss(folder: Path) -> None:
    cache = DiskCache("odd")
    cache.path("key").mkdir(parents=True)
    assert cache.get("key") is None
    cache.put("key", b"data")
    assert cache.get("key") is None


def test_the_entries_read_longest_ago_go_first(folder: Path) -> None:
    cache = DiskCache("small", max_bytes=2000)
    for i in range(10):
        cache.put(f"old {i}", bytes(300))
        os.utime(cache.path(f"old {i}"), (i, i))
    assert cache.get("old 0") is not None  # used just now, and so the youngest
    DiskCache("small", max_bytes=2000).put("new", bytes(300))
    left = sum(path.stat().st_size for path in entries(folder))
    assert left <= 2000
    assert cache.get("old 0") is not None
    assert cache.get("old 1") is None
    assert cache.get("new") is not None


def _compile_some(start: int) -> list[str]:
    return [compile_cuda(f"__global__ void k(int* x) {{ *x = {i % 4}; }}").ptx for i in range(start, start + 8)]


def test_processes_may_share_a_cold_cache(folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.map(_compile_some, range(4))
    for start, result in enumerate(results):
        assert result == [_compile_some(i % 4)[0] for i in range(start, start + 8)]
    assert len(entries(folder)) == 4


def _put_and_get(seed: int) -> bool:
    """Many writers of a few keys: whoever reads must see one writer's whole bytes."""
    cache = DiskCache("race")
    for i in range(200):
        cache.put(f"key {i % 3}", bytes([seed]) * 50_000)
        data = cache.get(f"key {(i + 1) % 3}")
        if data is not None and (len(data) != 50_000 or len(set(data)) != 1):
            return False
    return True


def test_concurrent_writers_of_one_key_never_mix(folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert all(pool.map(_put_and_get, range(3)))
    assert DiskCache("race").get("key 0") is not None
