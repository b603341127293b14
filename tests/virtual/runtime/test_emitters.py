"""The runtime is written whole: no file of it is left out of the table of its emitters."""

from __future__ import annotations

import re
from pathlib import Path

from gridstride.virtual import runtime
from gridstride.virtual.runtime.emitters import CORE, RARE, emit_scheduler


def test_every_emitter_of_the_runtime_is_in_the_table_or_part_of_another() -> None:
    folder = Path(str(runtime.__file__)).parent
    texts = [path.read_text() for path in folder.rglob("*.py") if path.stem != "emitters"]
    own = {name for text in texts for name in re.findall(r"^def (emit_\w+)\(", text, re.MULTILINE)}
    called = {name for text in texts for name in re.findall(r"^    +(emit_\w+)\(", text, re.MULTILINE)}
    assert own - called == {emit.__name__ for emit in (*CORE, *RARE, emit_scheduler)}
