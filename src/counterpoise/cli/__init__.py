"""The command line, ``counterpoise``: one module a command; main.py lists them."""
