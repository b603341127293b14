from __future__ import annotations

from pathlib import Path

from gridstride.programs.environment.executable import named_libraries, uses_cuda
from gridstride.programs.environment.words import HOST, read


def test_a_path_to_a_library_of_cuda_is_its_name() -> None:
    given = ["a.o", "/opt/cuda/lib64/libcublas.so", "lib/libcudart_static.a", "libcudart.so.13", "libmine.so"]
    assert [word.raw[0] for word in named_libraries(read(given, HOST))] == [
        "a.o", "-lcublas", "-lcudart_static", "-lcudart", "libmine.so",
    ]  # fmt: skip


def test_what_neither_names_nor_calls_cuda_is_linked_as_ever(tmp_path: Path) -> None:
    plain, kernels = tmp_path / "plain.o", tmp_path / "libkernels.a"
    plain.write_bytes(b"\0puts\0")
    kernels.write_bytes(b"\0__cudaRegisterFatBinary\0")
    assert not uses_cuda(read([str(plain)], HOST))
    assert uses_cuda(read([str(plain), "-lcudart"], HOST))
    assert uses_cuda(read([str(plain), f"-L{tmp_path}", "-lkernels"], HOST))
