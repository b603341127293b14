"""How a request wants its tokens drawn, and when it ends: one row for each option, and nothing of it anywhere else.

Without NumPy, as the command line makes its options from these rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, get_args

Use = Literal["end", "draw", "adjust", "report", "mask"]
_LEAST_TOP_P = 1e-9  # 0 asks for the likeliest token alone
_MOST_TOKENS = 1 << 24
REPETITION = 0.01, 100.0
"""What a repetition penalty may be: a logit divided by less could be infinite in fp32."""


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option of `gridstride generate` and `chat`, and the range that it is held to there."""

    least: float
    most: float
    metavar: str
    help: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What is said of an option but its default.

    `use`: it says when the request ends; how a token is drawn from the logits (the GPU's recorded steps know all of
    these: `graph_inputs.WISHES`); how the logits are changed before; what is reported; which tokens are masked. Only
    requests whose last three are at their defaults go the fast way. `fits` and `limit`: what the engine takes, None
    where admission.py needs more than the value. `request`: bounds of requests, which are OpenAI's, as pydantic has
    them; None where no field of a request has this name. `command`: None where it is no option of a command.
    """

    use: Use
    fits: Callable[[Any], bool] | None
    limit: str
    request: Mapping[str, float] | None
    command: CommandOption | None


def _option(
    default: Any, use: Use, fits: Callable[[Any], bool] | None, limit: str, *,
    request: Mapping[str, float] | None, command: CommandOption | None,
) -> Any:  # fmt: skip
    if use not in get_args(Use):
        raise ImportError(f"sampling.py: an option is used for one of {', '.join(get_args(Use))}, not {use!r}")
    metadata = {"rule": Rule(use, fits, limit, request, command)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """OpenAI's fields and vLLM's additions."""

    max_tokens: int = _option(
        16, "end", None, "",
        request=None, command=CommandOption(1, _MOST_TOKENS, "N", "Of an answer, at most."),
    )  # fmt: skip
    temperature: float = _option(
        1.0, "draw", lambda value: 0 <= value < math.inf, "a number from 0",
        request={"ge": 0, "le": 2},
        command=CommandOption(0, 100, "T", "0 takes the likeliest; as the model's folder says."),
    )  # fmt: skip
    top_k: int = _option(
        0, "draw", lambda value: value >= 0, "0 (all) or more",
        request={"ge": -1}, command=CommandOption(0, _MOST_TOKENS, "K", "Only the K likeliest tokens."),
    )  # fmt: skip
    top_p: float = _option(
        1.0, "draw", lambda value: 0 < value <= 1, "above 0 and at most 1",
        request={"ge": 0, "le": 1},
        command=CommandOption(0, 1, "P", "Only the likeliest that make up P together."),
    )  # fmt: skip
    min_p: float = _option(  # least share of the likeliest token's probability
        0.0, "draw", lambda value: 0 <= value <= 1, "from 0 to 1",
        request={"ge": 0, "le": 1}, command=CommandOption(0, 1, "P", "Only P times as likely as the likeliest."),
    )  # fmt: skip
    presence_penalty: float = _option(
        0.0, "adjust", math.isfinite, "a finite number", request={"ge": -2, "le": 2}, command=None
    )
    frequency_penalty: float = _option(
        0.0, "adjust", math.isfinite, "a finite number", request={"ge": -2, "le": 2}, command=None
    )
    repetition_penalty: float = _option(
        1.0, "adjust", lambda value: REPETITION[0] <= value <= REPETITION[1], "from {} to {}".format(*REPETITION),
        request={"ge": REPETITION[0], "le": 2},
        command=CommandOption(*REPETITION, "X", "Above 1: tokens seen become less likely."),
    )  # fmt: skip
    seed: int = _option(  # with a token's index it gives the token's random number: random_numbers.py
        0, "draw", None, "",
        request=None, command=CommandOption(0, (1 << 63) - 1, "N", "The same seed draws the same text."),
    )  # fmt: skip
    logit_bias: dict[int, float] = _option(  # noqa: RUF009 (it makes a field, as dataclasses.field does)
        dict, "adjust", None, "", request={"ge": -100, "le": 100}, command=None
    )
    # how many alternatives beside the token's own; None: none at all
    logprobs: int | None = _option(None, "report", None, "", request=None, command=None)
    # the same of the prompt's tokens, each after those before it
    prompt_logprobs: int | None = _option(
        None, "report", lambda value: value is None or value >= 0, "0 or more", request={"ge": 0, "le": 20},
        command=None,
    )  # fmt: skip
    # the prompt's hidden state is wanted: of its last token, or the mean of all
    pool: Literal["last", "mean"] | None = _option(
        None, "report", lambda value: value in (None, "last", "mean"), "last or mean", request=None, command=None
    )
    # these end the request and are part of its tokens
    stop_tokens: frozenset[int] = _option(frozenset, "end", None, "", request=None, command=None)
    # tokens before which nothing ends the request but its length
    min_tokens: int = _option(0, "mask", lambda value: value >= 0, "0 or more", request={"ge": 0}, command=None)
    ignore_eos: bool = _option(False, "end", None, "", request={}, command=None)
    # what the text must satisfy: a JSON schema, "" for any JSON object, "regex:…" or "lark:…"
    schema: str | None = _option(None, "mask", None, "", request=None, command=None)

    @classmethod
    def of(cls, **options: Any) -> Sampling:
        """With defaults for options that are None, as someone who asks has them."""
        values = {name: value for name, value in options.items() if value is not None}
        if "top_p" in values:
            values["top_p"] = max(values["top_p"], _LEAST_TOP_P)
        if "top_k" in values:  # -1 is vLLM's word for all; no vocabulary has as many as the most
            values["top_k"] = min(max(values["top_k"], 0), _MOST_TOKENS)
        return cls(**values)

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return {name: value for name, value in zip(_DEFAULTS, _options(self), strict=True) if value != _DEFAULTS[name]}

    @property
    def reads(self) -> bool:
        """Whether something of the prompt is wanted; no token need be drawn then."""
        return self.prompt_logprobs is not None or self.pool is not None

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @property
    def plain(self) -> bool:
        """Whether a token follows from its logits alone, and nothing but the token is wanted."""
        return _beyond_drawing(self) == _PLAIN

    @property
    def adjusted(self) -> bool:
        """Whether the logits are changed before a token is drawn."""
        return _adjustments(self) != _UNADJUSTED


def _default(option: Field[Any]) -> Any:
    return option.default if option.default_factory is MISSING else option.default_factory()


RULES: dict[str, Rule] = {option.name: option.metadata["rule"] for option in fields(Sampling)}
REQUESTED = frozenset(name for name, rule in RULES.items() if rule.request is not None)
"""Options that requests have under the same name."""
COMMAND_OPTIONS = {name: rule.command for name, rule in RULES.items() if rule.command is not None}

_DEFAULTS = {option.name: _default(option) for option in fields(Sampling)}
_options = attrgetter(*_DEFAULTS)
_BEYOND = tuple(name for name, rule in RULES.items() if rule.use in ("adjust", "report", "mask"))
_ADJUSTING = tuple(name for name, rule in RULES.items() if rule.use == "adjust")
_beyond_drawing, _PLAIN = attrgetter(*_BEYOND), tuple(_DEFAULTS[name] for name in _BEYOND)
_adjustments, _UNADJUSTED = attrgetter(*_ADJUSTING), tuple(_DEFAULTS[name] for name in _ADJUSTING)
