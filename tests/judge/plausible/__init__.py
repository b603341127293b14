"""Kernels as learners, language models and tired experts write them: `wrong/` must be rejected, `right/` accepted."""
