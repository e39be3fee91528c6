"""Executables as this frontend hands them out, and their files."""
