"""Small faulty kernels: each gets its finding at its line, and its twin that is right (-DRIGHT) gets none.

A file says in comments which kind of finding it must get, which lines may be named for it, and how it is launched.
"""

from __future__ import annotations

import pytest
from faulty_kernels import FAULTY, Faulty, findings, name

WITHOUT_ADDRESS = ("barrier_divergence", "deadlock", "timeout", "member_mask", "inactive_lane")


@pytest.mark.parametrize("case", FAULTY, ids=name)
def test_the_fault_is_found_at_its_line(case: Faulty) -> None:
    found = findings(case)
    assert {f.kind for f in found} == {case.kind}, [str(f) for f in found]
    for each in found:
        assert (each.kernel, each.file) == ("k", case.path.name)
        assert each.line in case.lines, str(each)
        assert each.block == (0, 0, 0)
        assert each.thread is not None
        assert (each.address is None) == (case.kind in WITHOUT_ADDRESS)
        assert each.message


@pytest.mark.parametrize("case", FAULTY, ids=name)
def test_its_right_twin_is_silent(case: Faulty) -> None:
    assert findings(case, "-DRIGHT") == ()
