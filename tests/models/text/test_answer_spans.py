"""Which words of a conversation are the model's: marked by the template, or found by rendering prefixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridstride.models.errors import ModelError
from gridstride.models.text.answer_spans import rendered
from gridstride.models.text.tokenizer import Tokenizer

from ..texts import byte_level

PLAIN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
MARKED = (
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{%- generation -%}{{ m.content }}</s>"
    "{%- endgeneration -%}{% else %}{{ m.content }}</s>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
FORGETS = (  # what was thought in earlier answers, as Qwen3's template does
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.last %}[thinks]{% endif %}"
    "{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
REWRITES = "{% for m in messages %}{{ messages | length }}{{ m.content }}{% endfor %}"
TALK = [
    {"role": "system", "content": "short"}, {"role": "user", "content": "one?"}, {"role": "assistant", "content": "1"},
    {"role": "user", "content": "two?"}, {"role": "assistant", "content": "2"},
]  # fmt: skip


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    byte_level().save(str(tmp_path / "tokenizer.json"))
    return Tokenizer.load(tmp_path)


def answers(tokenizer: Tokenizer, template: str, messages: list[dict[str, Any]], **words: Any) -> list[list[str]]:
    return [
        [each.text[first:after] for first, after in each.spans]
        for each in rendered(tokenizer, template, messages, **words)
    ]


@pytest.mark.parametrize("template", [PLAIN, MARKED])
def test_answers_with_what_closes_them_are_the_models(tokenizer: Tokenizer, template: str) -> None:
    assert answers(tokenizer, template, TALK) == [["1</s>", "2</s>"]]
    assert answers(tokenizer, template, TALK, last=True) == [["2</s>"]]
    [whole] = rendered(tokenizer, template, TALK)
    assert whole.text == "<system>short</s><user>one?</s><assistant>1</s><user>two?</s><assistant>2</s>"


FIRST_ROLE = (  # as templates with a system message have it, no conversation is empty
    "{% if messages[0].role == 'system' %}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.parametrize("heading", ["{% if add_generation_prompt %}<assistant>{% endif %}", ""])
def test_a_conversation_may_begin_with_the_assistant(tokenizer: Tokenizer, heading: str) -> None:
    template = FIRST_ROLE[: FIRST_ROLE.index("{% if add_gen")] + heading
    talk = [{"role": "assistant", "content": " hello "}, {"role": "user", "content": "hi"}]
    assert answers(tokenizer, template, talk) == [["hello<|end|>\n"]]
    tokenizer.eos = frozenset({0})  # <|end|>
    assert answers(tokenizer, template, talk) == [["hello<|end|>"]]
    if heading:
        assert answers(tokenizer, template, [*talk, {"role": "assistant", "content": "2"}])[0][0] == "hello<|end|>"


def test_a_first_answer_that_the_template_leaves_out_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ModelError, match="cannot be told from the rest"):
        rendered(tokenizer, "{% for m in messages %}<{{ m.role }}>{% endfor %}", TALK[2:3])


def test_what_the_user_says_last_is_not_learned(tokenizer: Tokenizer) -> None:
    assert answers(tokenizer, PLAIN, [*TALK, {"role": "user", "content": "three?"}]) == [["1</s>", "2</s>"]]


def test_a_template_that_forgets_gives_a_text_for_each_answer(tokenizer: Tokenizer) -> None:
    made = rendered(tokenizer, FORGETS, TALK)
    assert [each.text for each in made] == [
        "<system>short</s><user>one?</s><assistant>[thinks]1</s>",
        "<system>short</s><user>one?</s><assistant>1</s><user>two?</s><assistant>[thinks]2</s>",
    ]
    assert answers(tokenizer, FORGETS, TALK) == [["[thinks]1</s>"], ["[thinks]2</s>"]]


def test_a_template_that_rewrites_the_question_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ModelError, match=r"give a template that marks it with \{% generation %\}"):
        rendered(tokenizer, REWRITES, TALK)


def test_a_template_that_marks_nothing_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ModelError, match="marks nothing of this conversation"):
        rendered(tokenizer, MARKED, TALK[:2])


def test_text_that_looks_like_a_mark_is_only_text(tokenizer: Tokenizer) -> None:
    tricky = [{"role": "user", "content": "\x02\x03{% generation %}"}, {"role": "assistant", "content": "\x02a\x03"}]
    assert answers(tokenizer, MARKED, tricky) == [["\x02a\x03</s>"]]
