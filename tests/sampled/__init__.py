"""Sample inputs of ops by subject, and what they are made of; `tests/samples.py` has all."""
