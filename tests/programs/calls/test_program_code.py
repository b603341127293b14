"""Code that a program gives while it runs: what is taken for code, and what is said of what is none."""

from __future__ import annotations

import ctypes
import struct

import pytest

from gridstride.programs.calls.fat_binary import NoPtx, fat_binary, ptx_at, ptx_in_object
from gridstride.programs.calls.program_code import (
    NoCode,
    ProgramCode,
    bounded,
    image_of,
    log_message,
    status_of,
    texts_at,
)
from gridstride.programs.calls.status import Status
from gridstride.protocol import LinkError
from gridstride.virtual.ptx.syntax_errors import PtxError

PTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
EXTERN = PTX.replace(".visible .entry k()\n{", ".extern .func f;\n.visible .entry k()\n{\n\tcall f;")
ANY, AS_PTX, OBJECT = 0, 1, 3


class Memory:
    """Bytes at an address, as a program gives them."""

    def __init__(self, data: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(data, len(data) + 1)
        self.address = ctypes.addressof(self._buffer)


def texts(data: bytes, *, nbytes: int = 0, kind: int = ANY) -> list[str]:
    memory = Memory(data)
    return texts_at(memory.address, nbytes, kind)


def test_text_is_taken_up_to_its_zero() -> None:
    assert texts(PTX.encode()) == [PTX]
    assert texts(PTX.encode() + b"\0more", nbytes=len(PTX) + 5) == [PTX]


def test_a_fat_binary_and_the_wrapper_around_one_are_their_ptx() -> None:
    inner = Memory(fat_binary(PTX))
    wrapper = struct.pack("<IIQQ", 0x466243B1, 1, inner.address, 0)
    assert texts(fat_binary(PTX)) == texts(wrapper) == [PTX]


def test_a_fat_binary_says_what_its_ptx_is_for() -> None:
    data = fat_binary(PTX)
    assert ptx_at(Memory(data).address) == PTX
    assert struct.unpack_from("<HHI", data, 16 + 24) == (0, 8, 90)  # minor and major version, target


def test_an_object_is_the_ptx_of_every_fat_binary_in_it() -> None:
    data = b"\x7fELF" + b"\0" * 60 + fat_binary(PTX) + b"\0" * 8 + fat_binary(EXTERN)
    assert ptx_in_object(data) == texts(data, nbytes=len(data), kind=OBJECT) == [PTX, EXTERN]


def test_an_object_without_kernels_is_none() -> None:
    with pytest.raises(NoPtx):
        ptx_in_object(b"\x7fELF" + b"\0" * 60)


def test_several_texts_are_one_image_that_is_taken_again() -> None:
    assert texts(image_of([PTX, EXTERN])) == [PTX, EXTERN]
    assert texts(image_of([PTX])) == [PTX]


@pytest.mark.parametrize(
    ("data", "kind", "status"),
    [
        (b"\x7fELF" + b"\0" * 60, ANY, Status.NO_KERNEL_IMAGE),
        (b"", ANY, Status.INVALID_KERNEL_IMAGE),
        (b"nothing of the kind", ANY, Status.INVALID_KERNEL_IMAGE),
        (b"nothing of the kind", AS_PTX, Status.INVALID_PTX),
        (b"\x7fE", ANY, Status.INVALID_KERNEL_IMAGE),
    ],
)
def test_what_is_no_code_has_the_drivers_status(data: bytes, kind: int, status: Status) -> None:
    with pytest.raises(NoCode) as raised:
        texts(data, kind=kind)
    assert raised.value.status is status


def test_no_image_at_all_is_an_invalid_value() -> None:
    with pytest.raises(NoCode) as raised:
        texts_at(0, 0, ANY)
    assert raised.value.status is Status.INVALID_VALUE


def test_errors_have_the_drivers_status_and_words() -> None:
    error = PtxError("'foo' is no instruction", 9, 2, "\tfoo;")
    assert status_of(error) is status_of(LinkError("f is not defined")) is Status.INVALID_PTX
    assert log_message(error).startswith("ptxas application ptx input, line 9; error   : 'foo' is no instruction\n")


class Kept:
    """What a program has given, as C gives it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.code = ProgramCode(self.said.append)
        self.log = ctypes.create_string_buffer(64)

    def add(self, data: bytes, *, kind: int = ANY, room: int = 0) -> tuple[int, int]:
        number, memory = ctypes.c_int64(-1), Memory(data)
        status = self.code.code(
            memory.address, 0, kind, ctypes.pointer(number), ctypes.addressof(self.log) if room else None, room
        )
        return status, number.value


def test_linked_code_is_all_its_pieces() -> None:
    kept, number = Kept(), ctypes.c_int64()
    function = PTX.replace(".visible .entry k()\n{\n\tret;\n}", ".visible .func f()\n{\n\tret;\n}")
    numbers = (ctypes.c_int64 * 2)(kept.add(EXTERN.encode())[1], kept.add(function.encode())[1])
    assert kept.code.link_code(numbers, 2, ctypes.pointer(number), None, 0) == Status.SUCCESS
    assert [piece.ptx for piece in kept.code.pieces(number.value)] == [EXTERN, function]


def test_what_nothing_defines_is_found_when_it_is_linked() -> None:
    kept, number = Kept(), ctypes.c_int64()
    numbers = (ctypes.c_int64 * 1)(kept.add(EXTERN.encode())[1])
    assert kept.code.link_code(numbers, 1, ctypes.pointer(number), None, 0) == Status.INVALID_PTX
    assert "f" in kept.said[0]


def test_the_log_takes_as_much_as_it_has_room_for() -> None:
    kept = Kept()
    status, _ = kept.add(PTX.replace("ret", "rat").encode(), kind=AS_PTX, room=30)
    assert status == Status.INVALID_PTX
    assert kept.log.value == b"ptxas application ptx input, "
    assert kept.said == []


def test_without_a_log_it_is_said() -> None:
    kept = Kept()
    assert kept.add(b"no code")[0] == Status.INVALID_KERNEL_IMAGE
    assert kept.said == ["the code that the program gives cannot be loaded: this is neither PTX nor a fat binary"]


def test_an_image_stays_where_it_is() -> None:
    kept = Kept()
    _, number = kept.add(PTX.encode())
    image, nbytes = ctypes.c_uint64(), ctypes.c_uint64()
    first = []
    for _ in range(2):
        assert kept.code.code_image(number, ctypes.pointer(image), ctypes.pointer(nbytes)) == Status.SUCCESS
        first.append((image.value, ctypes.string_at(image.value, nbytes.value)))
    assert first[0] == first[1] == (image.value, fat_binary(PTX))


def test_a_bound_on_registers_stands_in_each_kernel_that_has_none() -> None:
    first, second = (
        ".visible .entry a(.param .u64 p)\n{ ret; }\n",
        ".entry b(\n.param .u32 q\n)\n.maxnreg 20\n{ ret; }\n",
    )
    ptx = first + second + ".func f() { }\n"
    text = bounded(ptx, 38)
    assert ".entry a(.param .u64 p)\n.maxnreg 38\n{" in text
    assert text.count(".maxnreg") == 2
    assert ".maxnreg 20" in text
