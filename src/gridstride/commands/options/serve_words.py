"""The words of `gridstride serve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from gridstride.commands.options.shared_options import Json, call, record_options


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """How a model is to be served."""

    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Whose requests: 0.0.0.0 for all machines.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option("--port", metavar="PORT", help="0 takes any that is free.")] = 8000
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Where to run; the GPU where there is one.")
    ] = None
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="TYPE", help="float32, bfloat16 or float16; auto: as the folder has it.")
    ] = "auto"
    quantization: Annotated[
        str | None, typer.Option("--quantization", metavar="int8", help="Weights of 8 bits, on a CPU.")
    ] = None
    max_running: Annotated[int, typer.Option("--max-running", metavar="N", help="Sequences that run at a time.")] = 256
    max_queue: Annotated[
        int, typer.Option("--max-queue", metavar="N", help="Sequences that may wait; more get 503.")
    ] = 1024
    block_size: Annotated[
        int | None, typer.Option("--block-size", metavar="TOKENS", help="Of a block of the cache.")
    ] = None
    cache_memory: Annotated[
        str | None,
        typer.Option(
            "--cache-memory", metavar="SIZE", help="For keys and values, 4GiB say; what is left over by default."
        ),
    ] = None
    api_key: Annotated[
        tuple[str, ...],
        typer.Option("--api-key", metavar="KEY", help="Ask for this key; repeatable. Other users see it: see next."),
    ] = ()
    api_key_file: Annotated[
        str | None, typer.Option("--api-key-file", metavar="FILE", help="Keys, one in each line.")
    ] = None
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="continuous; fifo and static are there to be compared with.")
    ] = "continuous"
    adapter: Annotated[
        tuple[str, ...],
        typer.Option("--adapter", metavar="NAME=DIR", help="A LoRA adapter that requests call NAME; repeatable."),
    ] = ()
    served_name: Annotated[
        tuple[str, ...],
        typer.Option("--served-name", metavar="NAME", help="What requests call the model; repeatable."),
    ] = ()
    max_model_len: Annotated[
        int | None,
        typer.Option("--max-model-len", metavar="TOKENS", help="Of a request, at most; by default the context."),
    ] = None
    tensor_parallel_size: Annotated[
        int, typer.Option("--tensor-parallel-size", metavar="N", help="Processes that share each layer, a GPU each.")
    ] = 1
    speculate: Annotated[
        str | None,
        typer.Option(
            "--speculate", metavar="ngram|draft", help="Guess tokens ahead: from the text so far, or see next."
        ),
    ] = None
    draft_model: Annotated[
        str | None, typer.Option("--draft-model", metavar="DIR", help="A small model that guesses, for draft.")
    ] = None
    speculate_tokens: Annotated[
        int | None, typer.Option("--speculate-tokens", metavar="N", help="Guessed in a step, at most; 8 by default.")
    ] = None
    chat_template: Annotated[
        str | None, typer.Option("--chat-template", metavar="FILE", help="Instead of the one in the folder.")
    ] = None
    pooling: Annotated[
        str | None,
        typer.Option("--pooling", metavar="last|mean", help="What a text's vector is; as the folder says by default."),
    ] = None
    cors: Annotated[
        tuple[str, ...],
        typer.Option("--cors", metavar="ORIGIN", help="Whose pages may ask from a browser; * for all; repeatable."),
    ] = ()
    max_body: Annotated[str, typer.Option("--max-body", metavar="SIZE", help="Of a request.")] = "4MiB"
    grace: Annotated[float, typer.Option("--grace", metavar="SECONDS", help="For running requests after SIGTERM.")] = (
        30.0
    )
    stall_after: Annotated[
        float,
        typer.Option(
            "--stall-after", metavar="SECONDS", help="/health fails when requests run so long without a token."
        ),
    ] = 60.0


@record_options
def serve(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model folder; the one that was trained here by default.")
    ] = None,
    *,
    options: ServeOptions,
    as_json: Json = False,
) -> int:
    """Serve a model as OpenAI's servers do.

    Chat, completions, streaming, metrics. With --json one line says where, once requests can come. Ctrl-C or SIGTERM
    lets running requests end; the second one ends at once.
    """
    return call("stack.serve", model, options, as_json=as_json)
