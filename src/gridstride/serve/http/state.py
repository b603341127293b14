"""What the endpoints of one server share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from fastapi import Request

from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.metrics import Metrics
from gridstride.serve.http.prepare import Prepare
from gridstride.serve.http.settings import Settings
from gridstride.serve.process.client import Client
from gridstride.serve.process.protocol import Ready
from gridstride.serve.process.supervisor import Supervisor


@dataclass(slots=True, kw_only=True)
class Server:
    """One model behind one engine; `draining` once it takes no more requests."""

    settings: Settings
    client: Client
    supervisor: Supervisor
    prepare: Prepare
    metrics: Metrics
    templates: dict[str, Prepare] = field(default_factory=dict)  # of adapters that have a template of their own
    created: int = field(default_factory=lambda: int(time.time()))
    draining: bool = False
    active: int = 0  # requests being answered, health and metrics aside

    @property
    def models(self) -> tuple[str, ...]:
        """What a request may name: the model's names, then the adapters'."""
        return (*self.settings.names, *self.settings.adapters)

    def adapter(self, name: str | None) -> int:
        """The engine's adapter that a model's name stands for; 0 for the model itself."""
        adapters = list(self.settings.adapters)
        return adapters.index(name) + 1 if name in adapters else 0

    def prepare_for(self, name: str | None) -> Prepare:
        """Text to tokens as the model of this name wants it."""
        return self.templates.get(name or "", self.prepare)

    @property
    def ready(self) -> Ready:
        """What the engine can do; an error while it has not said so."""
        if self.client.ready is None:
            raise ApiError(
                "The engine is starting: try again shortly.",
                status=503,
                code="unavailable",
                headers={"Retry-After": "2"},
            )
        return self.client.ready

    def check_model(self, name: str | None) -> None:
        """ApiError where a request names a model that is not served here."""
        if name is not None and name not in self.models:
            available = ", ".join(f"`{model}`" for model in self.models)
            message = f"The model `{name}` does not exist; this server has {available}."
            raise ApiError(message, status=404, param="model", code="model_not_found")


def server_of(request: Request) -> Server:
    server: Server = request.app.state.server
    return server
