"""Runners: what runs the calls of an executable."""
