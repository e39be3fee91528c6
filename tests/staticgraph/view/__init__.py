"""Graphs as a page."""
