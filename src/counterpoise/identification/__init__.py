"""Calibration: from a recording to a fitted robot, a verdict and a file."""
