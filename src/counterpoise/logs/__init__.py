"""What a robot reported: one instant, and a recording."""
