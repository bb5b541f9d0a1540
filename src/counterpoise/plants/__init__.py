"""Arms behind the plant protocol: simulated, replayed."""
