"""Python functions as graphs: `function`, and what its calls are made of."""
