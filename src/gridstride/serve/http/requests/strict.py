"""What all bodies of requests share: no field that is not known, no value of another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, field_validator
from pydantic_core import PydanticCustomError

FORM = "~"
"""Before the name of one of several forms of a value, which is part of pydantic's places and of no field's name."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())


class Served(Strict):
    """A body with fields that OpenAI knows and this server does not serve."""

    UNSERVED: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """These, each with the values that ask for nothing."""

    @field_validator("*", mode="before")
    @classmethod
    def _served(cls, value: Any, info: Any) -> Any:
        neutral = cls.UNSERVED.get(info.field_name)
        if neutral is not None and value is not None and value not in neutral:
            raise PydanticCustomError(
                "unsupported", "Unsupported parameter: '{name}' is not supported here.", {"name": info.field_name}
            )
        return value


def wrong_at(path: str, what: str) -> PydanticCustomError:
    """What a validator of a whole list raises of one place in it, as `[2].name`."""
    return PydanticCustomError("value_error", "{what}", {"at": path, "what": what})
