"""Several processes: collectives, sharding, who starts and ends them."""
