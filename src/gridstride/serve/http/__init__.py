"""OpenAI's HTTP interface on top of the engine's client."""
