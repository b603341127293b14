"""Which texts an answer's grammar lets through, token by token, as the engine asks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import ARGUMENTS, BY_NAME, SCHEMA, TWO_CALLS
from hypothesis import given
from hypothesis import strategies as st
from templates import MARKS
from tiny import VOCABULARY, write_tokenizer

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.answers.formats import THOUGHTS
from gridstride.serve.answers.grammar import Calls, Thoughts, avoiding, grammar
from gridstride.serve.engine.grammar import Grammars

Accepts = Callable[[str], str]
END = 0


@pytest.fixture(scope="module", params=[(), MARKS], ids=["marks are text", "marks are special tokens"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(path, special=request.param)
    return path


def accepted(folder: Path, lark: str, text: str) -> str:
    """`whole` where the text may come and end there, `part` where it must go on, else what came before its fault."""
    tokenizer = Tokenizer.load(folder)
    started = Grammars(folder, vocabulary=VOCABULARY, eos=frozenset({END})).start(f"lark:{lark}")
    ids = tokenizer.encode(text, special=False)
    for place, token in enumerate(ids):
        if not started.mask()[token // 32] >> (token % 32) & 1:
            return tokenizer.decode(ids[:place], special=True)
        started.take(token)
    return "whole" if started.mask()[END // 32] >> (END % 32) & 1 else "part"


def of(
    folder: Path, name: str, *, must: bool = False, several: bool = True, thoughts: Any = None, content: Any = None
) -> str:
    tokenizer = Tokenizer.load(folder)
    calls = Calls(format=BY_NAME[name], tools=[("f", SCHEMA), ("g", SCHEMA)], must=must, several=several)
    special = {tokenizer.token(id): id for id in tokenizer.special}
    return grammar(calls=calls, thoughts=thoughts, content=content, id=special.get)


@pytest.mark.parametrize("name", TWO_CALLS)
def test_calls_may_come_at_once_or_after_text(folder: Path, name: str) -> None:
    lark, calls = of(folder, name), TWO_CALLS[name]
    assert accepted(folder, lark, calls) == "whole"
    assert accepted(folder, lark, "It is\n so. " + calls) == "whole"
    assert accepted(folder, lark, "hello") == "whole"
    assert accepted(folder, lark, ARGUMENTS) == "whole"
    assert accepted(folder, lark, "") == "whole"


@pytest.mark.parametrize("name", TWO_CALLS)
def test_a_call_of_an_unknown_tool_stops_at_its_name(folder: Path, name: str) -> None:
    wrong = TWO_CALLS[name].replace('"f"', '"h"').replace("f[", "h[")
    stopped = accepted(folder, of(folder, name), wrong)
    assert stopped == wrong[: wrong.index("h", wrong.index('name": "') if '"h"' in wrong else 0)]


@pytest.mark.parametrize("name", TWO_CALLS)
def test_arguments_are_bound_to_their_schema(folder: Path, name: str) -> None:
    wrong = TWO_CALLS[name].replace("3", '"three"')
    assert accepted(folder, of(folder, name), wrong) == wrong[: wrong.index('"three"')]


@pytest.mark.parametrize("name", TWO_CALLS)
def test_where_a_call_must_come_no_text_does(folder: Path, name: str) -> None:
    lark = of(folder, name, must=True)
    assert accepted(folder, lark, TWO_CALLS[name]) == "whole"
    assert accepted(folder, lark, "hello") == ""
    assert accepted(folder, lark, "") == "part"


@pytest.mark.parametrize("name", TWO_CALLS)
def test_one_call_is_no_more_than_one(folder: Path, name: str) -> None:
    assert accepted(folder, of(folder, name), TWO_CALLS[name]) == "whole"
    assert accepted(folder, of(folder, name, several=False), TWO_CALLS[name]) not in ("whole", "part")


@pytest.mark.parametrize("name", TWO_CALLS)
def test_a_mark_within_thoughts_is_no_call(folder: Path, name: str) -> None:
    thought = f"<think>\nPerhaps {BY_NAME[name].opening if name == 'hermes' else 'f'}?\n</think>\n\n"
    lark = of(folder, name, thoughts=Thoughts(THOUGHTS[0], begun=False))
    assert accepted(folder, lark, thought + TWO_CALLS[name]) == "whole"
    assert accepted(folder, lark, thought + "hello") == "whole"
    assert accepted(folder, lark, TWO_CALLS[name]) == "whole"


@pytest.mark.parametrize("name", TWO_CALLS)
def test_begun_thoughts_must_end(folder: Path, name: str) -> None:
    lark = of(folder, name, must=True, thoughts=Thoughts(THOUGHTS[0], begun=True))
    assert accepted(folder, lark, "hm\n</think>\n\n" + TWO_CALLS[name]) == "whole"
    assert accepted(folder, lark, "hm") == "part"


@pytest.mark.parametrize("name", TWO_CALLS)
def test_what_is_said_can_have_a_schema_of_its_own(folder: Path, name: str) -> None:
    lark = of(folder, name, content={"enum": ["yes", "no"]})
    assert accepted(folder, lark, '"yes"') == "whole"
    assert accepted(folder, lark, TWO_CALLS[name]) == "whole"
    assert accepted(folder, lark, "hello") == ""


def test_thoughts_come_before_a_schema_without_tools(folder: Path) -> None:
    lark = grammar(calls=None, thoughts=Thoughts(THOUGHTS[0], begun=False), content=SCHEMA, id=lambda mark: None)
    assert accepted(folder, lark, "<think>\n{</think>\n" + ARGUMENTS) == "whole"
    assert accepted(folder, lark, ARGUMENTS) == "whole"
    assert accepted(folder, lark, "<think>\n{</think>\nhello") == "<think>\n{</think>\n"


WORDS = st.text(alphabet='<{"n]^a.\n', max_size=6)


@given(prefixes=st.lists(WORDS.filter(bool), min_size=1, max_size=3), text=WORDS)
def test_what_is_avoided_begins_no_text(prefixes: list[str], text: str) -> None:
    import re

    assert bool(re.fullmatch(avoiding(prefixes), text)) == (not any(text.startswith(each) for each in prefixes))
