"""Whatever goes wrong is told in OpenAI's shape."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

pytest.importorskip("fastapi")
from starlette.exceptions import HTTPException

from gridstride.serve.http.errors import ApiError, as_api_error, from_validation, sentence
from gridstride.serve.process.client import Lost, RequestRefused, Unavailable


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid")
    n: int
    names: list[str] = []


def told(values: object) -> ApiError:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(values)
    return from_validation(caught.value.errors())


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (ApiError("no", status=404, code="x"), 404, "invalid_request_error", "x"),
        (Unavailable("busy", retry_after=2), 503, "server_error", "unavailable"),
        (Lost("the engine ended"), 500, "server_error", "engine_lost"),
        (RequestRefused("too long", field="prompt"), 400, "invalid_request_error", None),
        (HTTPException(405, "no such method"), 405, "invalid_request_error", None),
    ],
)
def test_what_an_exception_becomes(error: Exception, status: int, kind: str, code: str | None) -> None:
    made = as_api_error(error)
    assert made is not None
    assert (made.status, made.body["error"]["type"], made.body["error"]["code"]) == (status, kind, code)


def test_a_bug_is_none_of_them() -> None:
    assert as_api_error(KeyError("x")) is None


def test_a_client_is_told_when_to_come_again() -> None:
    made = as_api_error(Unavailable("busy", retry_after=2.5))
    assert made is not None
    assert made.headers == {"Retry-After": "2.5"}


@pytest.mark.parametrize(
    ("values", "message", "param", "code"),
    [
        ({}, "Missing required parameter: 'n'.", "n", "missing_required_parameter"),
        ({"n": 1, "x": 1, "y": 2}, "Unrecognized request arguments supplied: x, y", "x", "unknown_parameter"),
        ({"n": "a"}, "Invalid value for 'n': Input should be a valid integer", "n", "invalid_value"),
        ({"n": 1, "names": ["a", 3]}, "Invalid value for 'names[1]'", "names[1]", "invalid_type"),
    ],
)
def test_what_a_form_finds_wrong(values: object, message: str, param: str, code: str) -> None:
    made = told(values)
    assert made.message.startswith(message)
    assert (made.param, made.code) == (param, code)


def test_a_long_value_is_cut() -> None:
    assert told({"n": "x" * 500}).message.endswith(f'(got "{"x" * 79}…).')


def test_what_the_engine_says_is_a_sentence() -> None:
    assert sentence("the prompt is empty") == sentence("The prompt is empty.") == "The prompt is empty."
