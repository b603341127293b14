"""A day's files, read strictly: lesson.md, lab.toml, quiz.toml, figures.toml."""
