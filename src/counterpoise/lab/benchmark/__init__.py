"""Measured speed: what ``counterpoise bench`` and ``benchmarks/run.py`` run."""
