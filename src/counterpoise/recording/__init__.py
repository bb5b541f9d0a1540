"""Recordings: samples, logs, mappings, readers and filters."""
