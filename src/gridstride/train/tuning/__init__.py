"""Fine-tuning: a model of a folder goes on with answers or preferences."""
