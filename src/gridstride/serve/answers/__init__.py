"""What is in a model's answer beside its text: thoughts, and calls of tools, as each family of models writes them."""
