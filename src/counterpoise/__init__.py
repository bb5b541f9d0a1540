"""Counterpoise."""
