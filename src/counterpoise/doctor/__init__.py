"""What is wrong with a recording: findings, each with its evidence and its remedy."""
