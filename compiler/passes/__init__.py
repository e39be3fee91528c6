"""Passes: functions graph -> graph."""
