"""Friction laws of joints: what opposes a motion, as a function of its speed."""
