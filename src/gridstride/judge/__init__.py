"""The judge: from a problem and a kernel to a verdict."""
