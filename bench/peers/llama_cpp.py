"""llama.cpp's server in this process, on one thread: `llama_cpp.py FOLDER TYPE WORK`, TYPE one of F32, BF16, Q8_0.

The model folder is written as GGUF into the folder WORK. A line of stdin is a request {"prompts", "tokens"}: lists of
tokens, all at once, and how many shall follow each. A line of stdout answers {"seconds", "processor_seconds",
"tokens"}.
Runs in the peers' environment, which has no GridStride.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 8  # requests at a time
QUIET = -1


def stored(folder: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Name and fp32 values of each weight in model.safetensors."""
    raw = np.memmap(folder / "model.safetensors", np.uint8, "r")
    begins = 8 + int(raw[:8].view(np.uint64)[0])
    for name, entry in json.loads(bytes(raw[8:begins])).items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            yield name, raw[begins + first : begins + end].view(np.float32).reshape(entry["shape"])


def interleaved(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """llama.cpp turns neighbours of a head, Hugging Face's Llama the first half with the second."""
    return weight.reshape(heads, 2, len(weight) // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def write(folder: Path, kind: str, path: Path) -> None:
    """The folder's Llama as GGUF; its tokens are the texts t0, t1, …"""
    import gguf

    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_vocab_size(config["vocab_size"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([f"t{token}" for token in range(config["vocab_size"])])
    writer.add_token_types([gguf.TokenType.NORMAL] * config["vocab_size"])
    writer.add_token_merges(["t 0"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    type_ = gguf.GGMLQuantizationType[kind]
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, weight in stored(folder):
        for part, count in heads.items():
            weight = interleaved(weight, count) if part in name else weight
        theirs, plain = names.get_name(name, try_suffixes=(".weight",)), np.ascontiguousarray(weight)
        if plain.ndim == 2 and kind != "F32":
            writer.add_tensor(theirs, gguf.quants.quantize(plain, type_), raw_dtype=type_)
        else:
            writer.add_tensor(theirs, plain)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def server(path: Path) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_parallel, parameters.n_ctx = MOST, MOST * 1024
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = QUIET
    return xllamacpp.Server(parameters)


def complete(server: Any, prompt: list[int], tokens: int) -> list[int]:
    request = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    answer = server.handle_completions(request)
    answer = json.loads(answer) if isinstance(answer, str) else answer
    return [int(token) for token in answer["choices"][0]["text"].split("t")[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=("F32", "BF16", "Q8_0"))
    parser.add_argument("work", type=Path)
    options = parser.parse_args()
    import xllamacpp

    folder, kind, work = options.folder, options.kind, options.work
    path = work / f"model-{kind}.gguf"
    write(folder, kind, path)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # llama.cpp writes what it likes to stdout
    running = server(path)
    print(json.dumps({"system": xllamacpp.get_system_info().strip()}), file=answers, flush=True)
    with ThreadPoolExecutor(MOST) as pool:
        for line in sys.stdin:
            request = json.loads(line)
            start, used = time.perf_counter(), time.process_time()
            calls = [pool.submit(complete, running, prompt, request["tokens"]) for prompt in request["prompts"]]
            tokens = [call.result() for call in calls]
            seconds, processor = time.perf_counter() - start, time.process_time() - used
            answer = {"seconds": seconds, "processor_seconds": processor, "tokens": tokens}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
