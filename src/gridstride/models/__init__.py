"""Decoders of the Llama, Qwen2, Qwen3 and GPT-2 shapes, on ops that are called by name."""
