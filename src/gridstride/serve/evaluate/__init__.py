"""How well a model knows texts: perplexity, and questions with several answers, from local files."""
