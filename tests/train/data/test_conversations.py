"""Rows of conversations and preferences: what of them is learned, and what is refused, by file and line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chats import MARKED, TEMPLATE, chat, conversations, preferences, write_base, write_rows
from tests.models.texts import metaspace, write

from gridstride.models.errors import ModelError
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.train.data import conversations as data
from gridstride.train.data.conversations import Template, TrainingExample
from gridstride.train.errors import TrainError


@pytest.fixture
def template(tmp_path: Path) -> Template:
    return Template(Tokenizer.load(write_base(tmp_path / "base")), TEMPLATE)


def said(template: Template, example: TrainingExample) -> tuple[str, str]:
    """The whole text, and what of it the model learns to say."""
    decode = template._tokenizer.decode
    return decode(example.tokens.tolist(), special=True), decode(example.tokens[example.answer].tolist(), special=True)


def read(template: Template, file: Path, *, length: int = 64, share: float = 0.2) -> data.Rows[TrainingExample]:
    return data.conversations(str(file), template, length=length, share=share)


def test_answers_alone_are_learned_with_what_ends_them(template: Template) -> None:
    [example] = template.examples(chat("red", "blue", "left", "right")["messages"])
    text, learned = said(template, example)
    assert text == (
        "<|start|>user\nred<|end|>\n<|start|>assistant\nblue<|end|>\n"
        "<|start|>user\nleft<|end|>\n<|start|>assistant\nright<|end|>\n"
    )
    assert learned == "blue<|end|>right<|end|>"


def test_text_parts_are_one_text_as_when_served(template: Template, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "blue"}, {"type": "text", "text": " left"}]
    rows = [
        chat("red", "blue left"),
        {"messages": [{"role": "user", "content": parts[:1]}, {"role": "assistant", "content": parts}]},
    ]
    found = read(template, write_rows(tmp_path / "c.jsonl", rows), share=0.5)
    learned = {said(template, example) for example in (*found.train, *found.validation)}
    assert {answer for _, answer in learned} == {"blue left<|end|>"}
    pairs = [{"prompt": [{"role": "user", "content": parts}], "chosen": word, "rejected": "no"} for word in ("a", "b")]
    both = data.preferences(str(write_rows(tmp_path / "p.jsonl", pairs)), template, length=64, share=0.5)
    assert len(both.train) + len(both.validation) == 2


def test_a_template_may_mark_them_itself(tmp_path: Path) -> None:
    marked = Template(Tokenizer.load(write_base(tmp_path / "base")), MARKED)
    [example] = marked.examples(chat("red", "blue")["messages"])
    assert said(marked, example)[1] == "blue<|end|>"


def test_an_answer_that_the_template_leaves_open_is_ended(tmp_path: Path) -> None:
    open_template = "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
    open_template += "{% if add_generation_prompt %}assistant:{% endif %}"
    made = Template(Tokenizer.load(write_base(tmp_path / "base")), open_template)
    [example] = made.examples(chat("red", "blue")["messages"])
    assert said(made, example) == ("user:red\nassistant:blue\n<|end|>", "blue\n<|end|>")


@pytest.mark.parametrize("space", ["", " ", "\t "], ids=repr)
def test_an_answer_begins_with_a_token_of_its_own_as_when_it_is_asked_for(tmp_path: Path, space: str) -> None:
    """Where a generation prompt ends in a space, the space and the first word are one token of the whole text."""
    spaced = "{% for m in messages %}{{ m.role }}:SPACE{{ m.content }}<|end|>{% endfor %}"
    spaced += "{% if add_generation_prompt %}assistant:SPACE{% endif %}"
    made = Template(Tokenizer.load(write_base(tmp_path / "base")), spaced.replace("SPACE", space))
    messages = chat("red", "green left", "open", "blue right")["messages"]
    examples = made.examples(messages)
    assert len(examples) == (1 if space == "" else 2)  # what was cut is whole in what comes before a later answer
    whole = "".join(f"{each['role']}:{space}{each['content']}<|end|>" for each in messages)
    assert said(made, examples[-1])[0] == whole
    assert "".join(said(made, each)[1] for each in examples) == "green left<|end|>blue right<|end|>"
    for asked, example in zip((1, 3), examples, strict=False):
        prompt = made.prompt(messages[:asked])
        assert example.tokens[: len(prompt)].tolist() == prompt
        assert example.answer[len(prompt)]


def test_a_tokenizer_that_begins_each_text_with_a_space_does_not_begin_an_answer_with_one(tmp_path: Path) -> None:
    spaced = "{% for m in messages %}hi {{ m.content }}!{% endfor %}{% if add_generation_prompt %}hi {% endif %}"
    made = Template(Tokenizer.load(write(tmp_path, metaspace())), spaced)
    messages = chat("a", "hi")["messages"]
    [example] = made.examples(messages)
    prompt = made.prompt(messages[:1])
    assert example.tokens[: len(prompt)].tolist() == prompt
    assert [made._tokenizer.token(id) for id in example.tokens[example.answer]] == ["h", "i", "!"]


def test_white_space_that_a_mark_takes_is_nobodys(tmp_path: Path) -> None:
    """Phi-3's mark of an answer swallows what stands behind it, also the space that an answer begins with."""
    base = write_base(tmp_path / "base")
    words = json.loads((base / "tokenizer.json").read_text())
    for token in words["added_tokens"]:
        token["rstrip"] = token["content"] == "<|start|>"
    (base / "tokenizer.json").write_text(json.dumps(words))
    marked = "{% for m in messages %}{{ m.role }}<|start|>\n{{ m.content }}<|end|>{% endfor %}"
    made = Template(Tokenizer.load(base), marked + "{% if add_generation_prompt %}assistant<|start|>\n{% endif %}")
    messages = chat("red", " blue")["messages"]
    [example] = made.examples(messages)
    prompt = made.prompt(messages[:1])
    assert example.tokens[: len(prompt)].tolist() == prompt
    assert not example.answer[: len(prompt)].any()
    assert said(made, example)[1] == "blue<|end|>"


@pytest.mark.parametrize("where", ["reasoning_content", "tool_calls"])
def test_an_end_token_in_thoughts_or_arguments_is_refused_too(template: Template, where: str) -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": {"city": "a<|end|>b"}}}
    answer = {"role": "assistant", "content": "x", where: [call] if where == "tool_calls" else "a<|end|>b"}
    with pytest.raises(ModelError, match=r"messages\[1\] has <\|end\|> in its words"):
        template.examples([{"role": "user", "content": "red"}, answer])


def test_an_answer_whose_own_words_end_it_is_refused(template: Template, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "c.jsonl", [chat("red", "blue"), chat("red", "blue<|end|>and green")])
    with pytest.raises(TrainError, match=r"line 2: messages\[1\] has <\|end\|> in its words, where the model's answer"):
        read(template, file)
    [example] = template.examples(chat("what does <|end|> do?", "it ends")["messages"])
    assert said(template, example)[1] == "it ends<|end|>"


def test_of_a_preference_the_answers_are_compared(template: Template, tmp_path: Path) -> None:
    rows = [
        {"prompt": "red", "chosen": "blue", "rejected": "green"},
        {
            "prompt": [{"role": "user", "content": "one"}],
            "chosen": [{"role": "assistant", "content": "two"}],
            "rejected": [{"role": "assistant", "content": "three"}],
        },
    ]
    found = data.preferences(str(write_rows(tmp_path / "p.jsonl", rows)), template, length=64, share=0.5)
    pairs = {
        tuple(said(template, side)[1] for side in (pair.chosen, pair.rejected))
        for pair in (*found.train, *found.validation)
    }
    assert pairs == {("blue<|end|>", "green<|end|>"), ("two<|end|>", "three<|end|>")}


def test_a_preference_whose_answers_hold_the_prompt_has_it_once(template: Template, tmp_path: Path) -> None:
    user = {"role": "user", "content": "red"}
    answers = {name: [user, {"role": "assistant", "content": name}] for name in ("chosen", "rejected")}
    rows = [
        {"prompt": [user], **answers},
        {"prompt": "red", **answers},
        {"prompt": "one", "chosen": "a", "rejected": "b"},
    ]
    found = data.preferences(str(write_rows(tmp_path / "p.jsonl", rows)), template, length=64, share=0.5)
    texts = {said(template, pair.chosen)[0] for pair in (*found.train, *found.validation)}
    assert "<|start|>user\nred<|end|>\n<|start|>assistant\nchosen<|end|>\n" in texts
    assert len(texts) == 2


def test_arguments_of_calls_are_what_templates_get_when_served(tmp_path: Path) -> None:
    calling = (
        "{% for m in messages %}{{ m.role }}: {% if m.tool_calls %}{{ m.tool_calls[0].function.arguments | tojson }}"
    )
    calling += "{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}"
    made = Template(Tokenizer.load(write_base(tmp_path / "base")), calling)
    call = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    rows = [
        {"messages": [{"role": "user", "content": word}, {"role": "assistant", "content": None, "tool_calls": [call]}]}
        for word in ("red", "blue")
    ]
    found = read(made, write_rows(tmp_path / "c.jsonl", rows), share=0.5)
    assert all('{"a": 1}' in said(made, example)[0] for example in (*found.train, *found.validation))


def test_of_conversations_that_begin_with_an_answer_none_has_an_empty_prompt(
    template: Template, tmp_path: Path
) -> None:
    rows = [{"messages": [{"role": "assistant", "content": word}]} for word in ("red", "blue")]
    found = read(template, write_rows(tmp_path / "c.jsonl", rows), share=0.5)
    assert found.prompts == []
    assert {said(template, example)[1] for example in (*found.train, *found.validation)} == {
        "red<|end|>",
        "blue<|end|>",
    }


def test_a_share_is_held_out_and_copies_stay_together(template: Template, tmp_path: Path) -> None:
    rows = conversations(20)
    found = read(template, write_rows(tmp_path / "c.jsonl", rows * 3))
    texts = [{said(template, example)[0] for example in part} for part in (found.train, found.validation)]
    assert not texts[0] & texts[1]
    assert len(found.train) + len(found.validation) == 60
    assert 1 <= len(texts[1]) <= len(texts[0]) / 3
    again = read(template, write_rows(tmp_path / "c.jsonl", list(reversed(rows)) * 3))
    assert {said(template, example)[0] for example in again.validation} == texts[1]
    assert len(found.prompts) == len(texts[1])


def test_what_is_too_long_is_counted_and_said(template: Template, tmp_path: Path) -> None:
    rows = [*conversations(4), chat("red", "blue " * 40), chat("red", "green " * 90)]
    found = read(template, write_rows(tmp_path / "c.jsonl", rows))
    assert len(found.train) + len(found.validation) == 4
    message = r"2 of 6 rows have more than 64 tokens \(the longest \d{3}, c.jsonl:6\)"
    with pytest.raises(TrainError, match=message.replace("2 of 6", "all 2 of 2").replace(":6", ":2")):
        read(template, write_rows(tmp_path / "c.jsonl", rows[4:]))
    assert re.match(message, found.left_out(64))


USER, EMPTY = {"role": "user", "content": "hi"}, {"role": "assistant", "content": " "}
BAD: dict[str, tuple[Any, str]] = {
    "not JSON": ("{'messages': 1}", r"line 2: not JSON \(Expecting property name.* at column 2\)"),
    "no object": ("[1]", "line 2: a JSON object is needed, not list"),
    "another field": ('{"text": "a"}', r"line 2: no \"messages\" \(it has 'text'\)"),
    "a preference": ('{"chosen": "a"}', "line 2: .*preferences are for --set tune.objective=dpo"),
    "no list": ({"messages": "hi"}, 'line 2: "messages" must be a list of messages'),
    "no role": ({"messages": [{"content": "a"}]}, r"line 2: \"messages\"\[0\] has no role \(it has 'content'\)"),
    "another role": (
        {"messages": [{"role": "bot", "content": "a"}]},
        "line 2: .* the role 'bot'; it can be system",
    ),
    "no content": ({"messages": [{"role": "user"}]}, "line 2: .* has no text: content must be a string"),
    "no parts": ({"messages": [USER, {"role": "assistant", "content": []}]}, r"\[1\] has no text: content must be"),
    "a picture": (
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}, {"role": "assistant", "content": "a"}]},
        r"line 2: \"messages\"\[0\] has a part 'image_url': each must be \{\"type\": \"text\"",
    ),
    "no answer": ({"messages": [USER]}, "line 2: no message of the role assistant: there is nothing to learn"),
    "half a character": (chat("a", "b\ud800"), r"line 2: \"messages\" has half a character, '\\ud800'"),
    "a weight": (
        {"messages": [USER, {"role": "assistant", "content": "a", "weight": 0}]},
        r"line 2: \"messages\"\[1\] has the weight 0: every answer is learned",
    ),
    "arguments that are no JSON": (
        {"messages": [USER, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]},
        r"line 2: \"messages\"\[1\] has a call whose arguments are not JSON: '\{'",
    ),
    "an empty answer": ({"messages": [USER, EMPTY]}, r"line 2: \"messages\"\[1\] is an empty answer"),
}


@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_line_is_said_with_file_and_number(template: Template, tmp_path: Path, bad: Any, message: str) -> None:
    file = write_rows(tmp_path / "c.jsonl", [chat("red", "blue"), bad, chat("one", "two")])
    if isinstance(bad, str):
        file.write_text(file.read_text().replace(json.dumps(bad), bad))
    with pytest.raises(TrainError, match=r"c.jsonl: 1 of 3 lines are not \{\"messages\".*" + message):
        read(template, file)


BAD_PAIRS: dict[str, tuple[dict[str, Any], str]] = {
    "a conversation": (chat("a", "b"), 'no "prompt" .*conversations are for --set tune.objective=sft'),
    "no other answer": ({"prompt": "a", "chosen": "b"}, r"no \"rejected\" \(it has 'prompt', 'chosen'\)"),
    "half a character": (
        {"prompt": "a", "chosen": "b", "rejected": "\udc00"},
        r"\"rejected\" has half a character, '\\udc00'",
    ),
    "an empty answer": ({"prompt": "a", "chosen": "b", "rejected": ""}, r"\"rejected\"\[0\] is an empty answer"),
    "the same twice": ({"prompt": "a", "chosen": "b", "rejected": "b"}, '"chosen" and "rejected" are the same'),
    "the user's": ({"prompt": "a", "chosen": [USER], "rejected": "c"}, '"chosen" ends with the role user'),
}


@pytest.mark.parametrize(("bad", "message"), BAD_PAIRS.values(), ids=BAD_PAIRS.keys())
def test_a_bad_preference_is_said_too(template: Template, tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    file = write_rows(tmp_path / "p.jsonl", [*preferences(2), bad])
    with pytest.raises(TrainError, match="p.jsonl: 1 of 3 lines .*line 3: " + message):
        data.preferences(str(file), template, length=64, share=0.2)


def test_too_few_rows_are_refused(template: Template, tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="has 1 different rows; at least 2 are needed"):
        read(template, write_rows(tmp_path / "c.jsonl", [chat("red", "blue")] * 3))
    with pytest.raises(TrainError, match=r"nothing.jsonl is not there"):
        read(template, tmp_path / "nothing.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainError, match=r"empty holds no .jsonl file"):
        read(template, tmp_path / "empty")
