"""What a robot's numbers are written to: C for a controller, URDF and MJCF for other programs."""
