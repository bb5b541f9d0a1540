"""Floating: an arm without weight that a hand can move, checked before it is let go and watched while it is."""
