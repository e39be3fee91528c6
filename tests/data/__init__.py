"""Data that the tests compare with, and the scripts that made them."""
