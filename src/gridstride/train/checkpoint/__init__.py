"""A run's folder, its checkpoints, and the model that is exported."""
