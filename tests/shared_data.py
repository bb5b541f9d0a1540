"""Where the shared test material lies: beside the repository, or where COUNTERPOISE_DATA says."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[2] / "shared")).resolve()
