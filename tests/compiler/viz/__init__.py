"""Layouts, blocks and lanes."""
