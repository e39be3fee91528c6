"""How each contender runs the user's function; `contender.py` says what such a module has."""
