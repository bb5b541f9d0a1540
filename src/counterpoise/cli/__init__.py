"""The command line: ``counterpoise catalog | load | gravity | bench``, each with ``--json``."""
