"""Robots ready to compute: kinematics, gravity, regressors, Newton–Euler."""
