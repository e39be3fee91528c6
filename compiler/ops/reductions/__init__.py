"""Ops along axes: sums, moments, extrema, norms, what adds up along an axis, sorting."""
