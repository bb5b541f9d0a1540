"""Published experiments, one file each: the claim, the set-up, the printed number, ours."""
