"""Chat templates in the manner of those that models with tools have: each shows its marks, its tools and its calls."""

from __future__ import annotations

_HEAD = "{% for m in messages %}<|start|>{{ m.role }}\n"
_TAIL = "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"

HERMES = (
    "{% if tools %}<|start|>system\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}"
    "Answer with <tool_call></tool_call>.<|end|>\n{% endif %}"
    + _HEAD
    + "{{ m.content }}{% for c in m.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}'
    + _TAIL
)
THINKING = HERMES.replace(
    "<|start|>assistant\n{% endif %}",
    "<|start|>assistant\n{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% if always %}<think>\n{% endif %}{% endif %}",
).replace(
    "{{ m.content }}", "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
)
LLAMA3 = (
    '{% if tools %}Respond in the format {"name": name, "parameters": values}.\n'
    "{% for t in tools %}{{ t | tojson(indent=4) }}\n{% endfor %}{% endif %}"
    + _HEAD.replace("{{ m.role }}", "{{ 'ipython' if m.role == 'tool' else m.role }}")
    + "{% if m.tool_calls %}{% if m.tool_calls | length != 1 %}"
    '{{ raise_exception("This model only supports single tool-calls at once!") }}{% endif %}'
    '{"name": "{{ m.tool_calls[0].function.name }}", "parameters": {{ m.tool_calls[0].function.arguments | tojson }}}'
    "{% else %}{{ m.content }}{% endif %}" + _TAIL
)
MISTRAL = (
    "{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}"
    + _HEAD
    + "{{ m.content }}{% if m.tool_calls %}[TOOL_CALLS][{% for c in m.tool_calls %}"
    '{% if c.id | length != 9 %}{{ raise_exception("ids have 9 characters") }}{% endif %}'
    "{{ c.function | tojson }}{{ ', ' if not loop.last }}{% endfor %}]{% endif %}" + _TAIL
)
MISTRAL_ARGS = (
    MISTRAL.replace("[TOOL_CALLS][", "")
    .replace("]{% endif %}<|end|>", "{% endif %}<|end|>")
    .replace(
        "{{ c.function | tojson }}{{ ', ' if not loop.last }}",
        "[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}",
    )
)

BY_FORMAT = {"hermes": HERMES, "llama3": LLAMA3, "mistral": MISTRAL, "mistral-args": MISTRAL_ARGS}
MARKS = ["<|python_tag|>", "[TOOL_CALLS]", "[ARGS]"]
"""Special tokens of the tokenizers of these families."""
