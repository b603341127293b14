"""What the linker is given besides the objects, and what its errors are in plain words."""

from __future__ import annotations

import pytest

from gridstride.programs.toolchain.link import linked_binaries, not_linked


def test_every_relocatable_object_gets_the_function_that_it_calls() -> None:
    name = "__cudaRegisterLinkedBinary_4f3a_5_x_cu_main"
    text = linked_binaries([b"\0" + name.encode() + b"\0", b"nothing", name.encode()])
    assert text.count(f"void {name}(") == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ld.lld: error: duplicate symbol: main\n", "two functions main()"),
        ("ld.lld: error: undefined symbol: cublasStrsm_v2\n", "cublasStrsm_v2 is not among what"),
        ("ld.lld: error: undefined symbol: cufftXtExec\n", "cufftXtExec is not among what"),
        ("ld.lld: error: undefined symbol: cusparseSbsrmv\n", "cusparseSbsrmv is not among what"),
        ("ld.lld: error: undefined symbol: cublasLtCreate\n", "cublasLtCreate is of cublasLt"),
        ("ld.lld: error: undefined symbol: cusparseLtInit\n", "cusparseLtInit is of cusparseLt"),
        ("ld.lld: error: undefined symbol: cuMemAlloc_v2\n", "cuMemAlloc_v2 is of cuda,"),
        ("ld.lld: error: undefined symbol: helper(int)\n", "nothing defines helper(int)"),
        ("ld.lld: error: undefined symbol: curious\n", "nothing defines curious"),
    ],
)
def test_errors_of_the_linker_in_plain_words(said: str, words: str) -> None:
    assert words in str(not_linked(said))


def test_what_is_not_understood_is_shown_as_it_is() -> None:
    assert not_linked("ld.lld: error: strange\n").output == "ld.lld: error: strange\n"
