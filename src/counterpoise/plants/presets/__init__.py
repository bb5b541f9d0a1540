"""Ready-made simulated arms: a catalog robot and everything between it and a controller, with reasons."""
