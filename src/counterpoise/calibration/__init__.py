"""From recorded poses to a calibrated arm; so far: which poses to record, and how."""
