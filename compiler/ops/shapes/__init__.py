"""Ops that move elements and compute none: shapes, slices, padding."""
