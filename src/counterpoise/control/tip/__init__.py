"""Laws at the tip: a wrench, a force in one direction, an impedance, a load that changes, a part in two hands."""
