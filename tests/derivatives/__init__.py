"""Derivatives of every op beside quotients of differences in fifty digits."""
