"""The page with the arm in 3D: push it, load it, replay a recording, compare two calibrations."""
