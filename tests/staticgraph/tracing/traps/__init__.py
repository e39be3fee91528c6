"""The corpus of traps: functions that captures are known to get wrong, by subject."""
