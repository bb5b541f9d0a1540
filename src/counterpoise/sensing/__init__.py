"""Joint torques, gravity and payload from sensors, while an arm works."""
