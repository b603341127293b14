"""What makes a graph shorter before it runs: nodes that one kernel computes become one node."""
