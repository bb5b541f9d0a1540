"""Teach and replay: a path recorded while the arm floats, planned as a whole, and followed again."""
