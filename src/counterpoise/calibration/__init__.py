"""From recordings to a calibrated arm: which poses to record, the fit, how far to believe it, and its file."""
