"""Lint: what in a graph is most likely a slip, found when it is compiled."""
