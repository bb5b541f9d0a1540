"""What every subpackage builds on: arrays, rotations, numbers, bounded files, native code."""
