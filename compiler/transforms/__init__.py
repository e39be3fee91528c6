"""Expressions from expressions: derivatives, batches, values that are computed again."""
