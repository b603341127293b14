"""The course's commands: learn, watch, hint, quiz, solution, progress, portfolio, glossary, up."""
