"""Published experiments run again, the guided tour, and the benchmark."""
