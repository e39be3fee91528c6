"""Both paradigms on the same inputs, value by value: `staticgraph.diff`."""
