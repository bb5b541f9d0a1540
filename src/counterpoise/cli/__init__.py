"""The command line: ``counterpoise catalog | load | gravity | simulate | record | bench``, each with ``--json``."""
