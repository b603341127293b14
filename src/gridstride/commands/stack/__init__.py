"""The stack's commands: train, generate, chat, evaluate, serve, load."""
