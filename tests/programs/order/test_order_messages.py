"""Words for work that uses the same bytes in no order: which line it is, in whose file."""

from __future__ import annotations

import pytest

from gridstride.programs.order.order_messages import StreamAccess, between_streams


def access(kernel: str, inside: tuple[str, int] | None = None) -> StreamAccess:
    return StreamAccess(kernel, "cudaLaunchKernel", (), "stream 1").at(inside, writes=True)


def said(*insides: tuple[str, int] | None) -> str:
    """Of two kernels."""
    first, second = (access(f"k{number}", inside) for number, inside in enumerate(insides))
    return between_streams(first, second, address=0, nbytes=4, same_graph=False).message


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/home/me/prog.cu", "/home/me/prog.cu", True),
        ("/home/me/prog.cu", "prog.cu", True),
        ("/home/me/prog.cu", "me/../me/prog.cu", True),
        ("/home/me/prog.cu", "/home/you/prog.cu", False),
        ("/home/me/prog.cu", "you/prog.cu", False),
        ("/home/me/prog.cu", "og.cu", False),
    ],
)
def test_a_file_is_named_once_however_a_compiler_called_it(one: str, other: str, same: bool) -> None:
    assert ("in line 7" in said((one, 7), (other, 8))) == same
    assert not same or "in line 8" in said((other, 8), (one, 7))


def test_lines_inside_of_a_library_are_not_shown() -> None:
    message = said(("/site/gridstride/programs/libraries/cublas/gemm.cu", 137), ("prog.cu", 7))
    assert "gemm.cu" not in message
    assert "k1 (in stream 1) writes in line 7 4 bytes that kernel k0 (in stream 1) writes, and" in message
