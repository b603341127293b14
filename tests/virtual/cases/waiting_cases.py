"""Locks, rings between blocks, queues of work, semaphores, and what else device code may do besides arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from suite import Case, Twin, compiled, text_of

import gridstride as gs


def zeros(*shape: int) -> gs.DeviceArray:
    return gs.to_device(np.zeros(shape, np.int32))


def run_lock(name: str, threads: int, *sizes: int) -> Callable[[str], np.ndarray]:
    """Nine blocks of 64; `threads` take the lock, and what they saw is 0 + 1 + 2 + …"""

    def run(text: str) -> np.ndarray:
        data = zeros(2)
        compiled(text)[name][9, 64](*(zeros(n) for n in sizes), data)
        count, check = data.numpy()
        assert (count, check) == (threads, threads * (threads - 1) // 2)
        return data.numpy()

    return run


def run_readers(text: str) -> np.ndarray:
    data, bad = zeros(2), zeros(1)
    compiled(text)["readers_writers"][12, 32](zeros(1), data, bad, 5)
    assert bad.numpy()[0] == 0
    assert list(data.numpy()) == [15, 30]
    return data.numpy()


def run_ring(text: str) -> np.ndarray:
    x = np.random.default_rng(0).integers(-99, 99, (3, 20, 64)).astype(np.int32)
    y = np.zeros_like(x)
    compiled(text)["ring"][6, 64](x, y, zeros(3 * 4 * 64), zeros(3), zeros(3), 20)
    assert (y == 3 * x[:, :, ::-1]).all()
    return y


def run_queue(text: str) -> np.ndarray:
    nodes = 200
    items, tail = np.full(nodes, -1, np.int32), np.ones(1, np.int32)
    items[0] = 0
    seen = zeros(nodes)
    compiled(text)["queue"][4, 64](items, zeros(1), tail, np.array([nodes], np.int32), seen, nodes)
    assert (seen.numpy() == 1).all()
    return seen.numpy()


def run_semaphore(text: str) -> np.ndarray:
    most, total, y = zeros(1), zeros(1), zeros(256)
    x = np.random.default_rng(0).integers(0, 99, 128).astype(np.int32)
    compiled(text)["guarded"][1, 256](most, total, x, y)
    assert 1 <= most.numpy()[0] <= 3
    assert total.numpy()[0] == x.sum()
    return total.numpy()


def run_objects(text: str) -> np.ndarray:
    image = np.random.default_rng(0).random((6, 8), np.float32)
    y, deep = np.zeros(48, np.float32), np.zeros(48, np.int32)
    gs.cuda(text, ("-rdc=true",))["objects"][1, 48](gs.texture(image), y, deep, 8)
    t, v = np.arange(48), image.reshape(-1)
    area = np.where(t % 3, v * t.astype(np.float32), v * v)[::-1]
    assert (y == np.where(t % 2, area - 1, 2 * area)).all()
    assert (deep == 2 * (t % 4) + 3).all()
    return y


def run_children(text: str) -> np.ndarray:
    x, sums, total = np.random.default_rng(0).integers(0, 99, (24, 32)).astype(np.int32), zeros(24), zeros(1)
    gs.cuda(text, ("-rdc=true",))["parent"][1, 4](x, sums, total, 24)
    assert (sums.numpy() == x.sum(1)).all()
    assert total.numpy()[0] == x.sum()
    return sums.numpy()


WAITING, LANGUAGE = text_of("waiting.cu"), text_of("language.cu")
FENCE = "    __threadfence();\n"
CASES = [
    Case("spin", WAITING, run_lock("spin", 9 * 64, 1), (
        Twin("no lock at all", f"if (atomicCAS(lock, 0, 1) == 0) {{\n        {FENCE}", "if (lock) {\n"),
    )),
    Case("ticket", WAITING, run_lock("ticket", 18, 1, 1), (
        Twin("tickets drawn without an atomic", "atomicAdd(next, 1)", "(*next)++"),
    )),
    Case("mcs", WAITING, run_lock("mcs", 9, 1, 16, 16)),
    Case("readers-writers", WAITING, run_readers, (
        Twin("a writer that does not wait",
             f"while (atomicCAS(state, 0, -1) != 0) __nanosleep(16);\n        {FENCE}", ""),
    )),
    Case("ring", WAITING, run_ring, (
        Twin("no fence before the flag", f"* 3;\n        {FENCE}", "* 3;\n"),
        Twin("the block does not wait for its thread",
             "while (filled[pair] <= i) {} __threadfence(); }\n            __syncthreads();",
             "while (filled[pair] <= i) {} __threadfence(); }"),
    )),
    Case("queue", WAITING, run_queue),
    Case("semaphore", text_of("semaphores.cu"), run_semaphore),
    Case("objects", LANGUAGE, run_objects, (
        Twin("objects used before all are made",
             "(Shape *)new Square(v);\n    __syncthreads();", "(Shape *)new Square(v);",
             ("race", "misaligned", "out_of_bounds")),
        Twin("objects gone while others use them", "area());\n    __syncthreads();", "area());",
             ("race", "use_after_free")),
        Twin("deleted twice",
             "delete shapes[t];", "delete shapes[t]; delete shapes[t];", ("invalid_free", "use_after_free")),
    )),
    Case("children", LANGUAGE, run_children),
]  # fmt: skip
