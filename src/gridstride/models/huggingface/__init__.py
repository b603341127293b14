"""A model's folder as Hugging Face has it: read, checked, written."""
