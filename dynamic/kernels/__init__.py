"""How an op is computed eagerly: directly, in blocks, or by a compiled kernel."""
