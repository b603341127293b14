"""Chat templates: the same text as transformers gives, and no harm from hostile ones."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from gridstride.models.errors import ModelError
from gridstride.models.text import chat
from gridstride.models.text.tokenizer import Tokenizer

from ..texts import byte_level, write

CHATML = """{% for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

LLAMA3 = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = '' %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = '26 Jul 2024' %}
{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + date_string + '\\n\\n' + system_message }}
{{- '<|eot_id|>' }}
{%- if tools is not none %}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) }}{{ '\\n' }}
    {%- endfor %}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'nobody' %}{{ raise_exception('Who is nobody?') }}{% endif %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}"""

QWEN = """{%- set ns = namespace(last=messages|length - 1, seen=0) %}
{%- for message in messages[::-1] %}
    {%- if message.role == 'user' and ns.seen == 0 %}{%- set ns.last = loop.index0 %}{%- set ns.seen = 1 %}{%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {%- if loop.first and message.role != 'system' %}{{- '<|im_start|>system\\nBe brief.<|im_end|>\\n' }}{%- endif %}
    {{- '<|im_start|>' ~ message.role ~ '\\n' ~ content ~ ('' if loop.last else '<|im_end|>') ~ loop.length ~ '\\n' }}
    {%- if message.role == 'stop' %}{%- break %}{%- endif %}
{%- endfor %}
{{- ns.last }}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""

MARKED = """{% macro turn(message) %}[{{ message.role }}] {{ message.content }}{% endmacro %}
{% for message in messages %}
{% if message.role == 'assistant' %}{% generation %}{{ turn(message) }}{% endgeneration %}{% else %}
{{ turn(message) }}{% endif %}
{% endfor %}{{ messages | tojson }} {{ dict(a=1) | tojson }} {{ eos_token }}"""

TEMPLATES = {"ChatML": CHATML, "Llama 3": LLAMA3, "Qwen": QWEN, "marked": MARKED}
CONFIG = {"bos_token": "<|start|>", "eos_token": {"content": "<|end|>"}, "tokenizer_class": "PreTrainedTokenizerFast"}
TALK = [
    {"role": "system", "content": "  You are <b>terse</b> & kind. "},
    {"role": "user", "content": "Grüß dich\n"},
    {"role": "assistant", "content": "<think>hm</think>\n\nHello 🙂"},
    {"role": "user", "content": "Bye"},
]


def folder(path: Path, template: Any) -> Path:
    chat.template.cache_clear()
    chat._special.cache_clear()
    return write(path, byte_level(), tokenizer_config=CONFIG | {"chat_template": template})


def theirs(template: str, messages: Any, **values: Any) -> str:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_level(), bos_token="<|start|>", eos_token="<|end|>")
    return tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, **values)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("values", [{}, {"add_generation_prompt": True}, {"enable_thinking": False}])
def test_the_text_is_that_of_transformers(name: str, values: dict[str, Any], tmp_path: Path) -> None:
    path = folder(tmp_path, TEMPLATES[name])
    values = {"add_generation_prompt": False} | values
    assert chat.render(path, TALK, **values) == theirs(TEMPLATES[name], TALK, **values)


MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text()})


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(MESSAGE, min_size=1, max_size=4))
def test_any_conversation_gives_the_same_text(name: str, messages: Any, tmp_path: Path) -> None:
    path = folder(tmp_path, TEMPLATES[name])
    assert chat.render(path, messages) == theirs(TEMPLATES[name], messages, add_generation_prompt=True)


def test_tools_reach_the_template(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    text = chat.render(folder(tmp_path, LLAMA3), TALK, tools=tools)
    assert text == theirs(LLAMA3, TALK, tools=tools, add_generation_prompt=True)


def test_a_file_of_its_own_comes_first(tmp_path: Path) -> None:
    path = folder(tmp_path, CHATML)
    (path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert chat.render(path, TALK[1:]) == "Grüß dich\n"


def test_a_broken_template_is_known_before_it_is_rendered() -> None:
    assert chat.fault("{% for m in messages %}{{ m.content }}{% endfor %}") is None
    assert (chat.fault("a\n{% endfor %}") or "").startswith("is broken in line 2: ")


def test_of_several_templates_the_default_is_taken(tmp_path: Path) -> None:
    several = [{"name": "rag", "template": "no"}, {"name": "default", "template": "yes"}]
    assert chat.render(folder(tmp_path, several), TALK) == "yes"


def test_a_tokenizer_knows_its_folder(tmp_path: Path) -> None:
    assert chat.render(Tokenizer.load(folder(tmp_path, CHATML)), TALK).startswith("<|im_start|>system")


def test_a_model_without_a_template_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no chat template"):
        chat.render(folder(tmp_path, None), TALK)


def test_what_a_template_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"refuses: Who is nobody\?"):
        chat.render(folder(tmp_path, LLAMA3), [{"role": "nobody", "content": ""}])


@pytest.mark.parametrize("text", ["{% if %}", "{% for x in messages %}", "{{ 1 +", "{% nonsense %}"])
def test_a_broken_template_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is broken in line 1"):
        chat.render(folder(tmp_path, text), TALK)


FAULTS = ["{{ 1 / 0 }}", "{{ messages[0] + 1 }}", "{{ messages.x.y }}", "{{ 'a' | int + 'b' }}", "{% include 'x' %}"]


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_within_a_template_is_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the chat template of"):
        chat.render(folder(tmp_path, text), TALK)


HOSTILE = {
    "globals of a method": "{{ messages.append.__globals__ }}",
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "change of the messages": "{{ messages.append(1) }}",
    "globals of a function": "{{ raise_exception.__globals__ }}",
    "attribute by format": "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "attribute by filter": "{{ messages | attr('__class__') }}",
    "namespace": "{% set ns = namespace() %}{% set ns.__class__ = dict %}{{ ns.__init__ }}",
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "calls": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "power": "{{ 9 ** 9 ** 9 }}",
    "product": "{{ 'x' * 9999999999 }}",
    "product of a list": "{{ 9999999999 * [1] }}",
    "doubling": "{% set n = namespace(x='x') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "sum": "{% set n = namespace(x='x') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "long text": "{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_gets_nowhere(name: str, tmp_path: Path) -> None:
    start = time.process_time()
    try:
        text = chat.render(folder(tmp_path, HOSTILE[name]), TALK)
    except ModelError:
        text = ""
    assert "class" not in text
    assert "function" not in text
    assert len(text) < 100
    assert time.process_time() - start < 30


def test_messages_of_foreign_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a message holds PosixPath"):
        chat.render(folder(tmp_path, CHATML), [{"role": "user", "content": tmp_path}])


def test_a_template_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="chat_template is no text"):
        chat.render(folder(tmp_path, {"a": 1}), TALK)


def test_rendering_is_repeatable(tmp_path: Path) -> None:
    path = folder(tmp_path, QWEN)
    assert len({chat.render(path, json.loads(json.dumps(TALK))) for _ in range(3)}) == 1


KEPT = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</{{ m.role }}>{% endfor %}"
UNFINISHED = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "  So it was "}]


def test_the_last_message_can_go_on(tmp_path: Path) -> None:
    template = KEPT + "{% if add_generation_prompt %}<assistant>{% endif %}"
    made = chat.render(folder(tmp_path, template), UNFINISHED, continue_final_message=True)
    assert made == "<user>go on</user><assistant>So it was"


def test_a_last_message_that_is_not_shown_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not show the last message"):
        chat.render(folder(tmp_path, "{{ messages[0].content }}"), UNFINISHED, continue_final_message=True)
