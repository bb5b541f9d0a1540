"""The page with the arm in 3D: push it, load it, replay a recording, compare two calibrations."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .arms import ViewArm as ViewArm
    from .arms import view_arm as view_arm
    from .arms import with_limits as with_limits
    from .arms import without_followers as without_followers
    from .comparison import compared as compared
    from .page import ViewPage as ViewPage
    from .page import serve as serve
    from .session import Session as Session
    from .snapshot import State as State
    from .timeline import log_timeline as log_timeline
    from .timeline import read_timeline as read_timeline

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "arms": ("ViewArm", "view_arm"),
        "page": ("ViewPage", "serve"),
        "session": ("Session",),
        "snapshot": ("State",),
    },
    shared={
        "arms": ("with_limits", "without_followers"),
        "comparison": ("compared",),
        "timeline": ("log_timeline", "read_timeline"),
    },
)
