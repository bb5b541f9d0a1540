"""Driving a plant: the protocol, the laws, the safety filter, the loop."""
