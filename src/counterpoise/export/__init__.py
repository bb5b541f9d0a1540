"""Robots written for other programs: C, URDF, MJCF."""
