"""The terms of the model of the efforts, one a file: ``term.py`` says what a term is, and finds them here."""
