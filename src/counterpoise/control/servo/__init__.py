"""Arms without torque mode: hand-guiding by admittance, and goals that make up for the droop of position servos."""
