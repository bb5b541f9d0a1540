"""What is done with an arm: recording poses, floating, teaching and replaying, tuning, hand-guiding."""
