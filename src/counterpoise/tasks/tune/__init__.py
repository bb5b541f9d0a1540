"""Finding the gains of a law by experiment, by one written rule for every law."""
