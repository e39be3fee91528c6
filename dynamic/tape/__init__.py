"""The tape: nodes, the reverse pass, hooks, and what nodes save."""
