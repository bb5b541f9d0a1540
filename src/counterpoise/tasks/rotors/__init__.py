"""Measuring what each joint's torque moves, where the model does not say how large the rotors are."""
