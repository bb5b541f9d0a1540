"""Joint torques from a six-axis plate under the base: gravity compensator, joint analyzer, tare, tables, variance."""
