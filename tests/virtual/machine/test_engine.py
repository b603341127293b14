"""Machine code from IR: a long compile holds up no other, and comes out the same beside it."""

from __future__ import annotations

import threading
import time

from gridstride.virtual.machine.engine import compile_object


def chain(count: int) -> str:
    """A function of so many dependent operations on vectors, in one block."""
    lines = ["define <32 x i32> @kernel(<32 x i32> %v0, <32 x i32> %w) {"]
    for i in range(count):
        operation = ("add", "xor", "mul", "sub")[i % 4]
        lines.append(f"  %v{i + 1} = {operation} <32 x i32> %v{i}, {'%w' if i % 3 else f'%v{i // 2}'}")
    return "\n".join([*lines, f"  ret <32 x i32> %v{count}", "}"])


def test_a_long_compile_holds_up_no_other() -> None:
    short, long = chain(20), chain(5_000)
    alone = compile_object(short)
    done: list[bytes] = []
    thread = threading.Thread(target=lambda: done.append(compile_object(long)))
    thread.start()
    time.sleep(0.1)
    compiled = 0
    while thread.is_alive():
        assert compile_object(short) == alone
        compiled += 1
    thread.join()
    assert compiled > 5, "the short ones waited for the long one"
    assert done == [compile_object(long)]


def test_compiles_on_many_threads_give_what_each_gives_alone() -> None:
    texts = [chain(100 + 37 * i) for i in range(8)]
    expected = [compile_object(text) for text in texts]
    made: dict[int, bytes] = {}

    def work(number: int) -> None:
        for _ in range(3):
            made[number] = compile_object(texts[number])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [made[i] for i in range(len(texts))] == expected
