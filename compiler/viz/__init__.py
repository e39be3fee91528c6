"""Layered layouts of graphs, and pictures of them."""
