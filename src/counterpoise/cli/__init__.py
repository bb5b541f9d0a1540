"""The command line: ``counterpoise catalog | load | gravity | simulate | poses | record | calibrate | verify | bench``."""
