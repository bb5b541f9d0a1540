"""Pages for people: one self-contained HTML file each, made of the same few pieces."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .base_sensor import base_sensor_page as base_sensor_page
    from .calibration import calibration_page as calibration_page
    from .calibration import gravity_share as gravity_share
    from .calibration import in_units as in_units
    from .calibration import verification_columns as verification_columns
    from .calibration import verification_page as verification_page
    from .doctor import doctor_page as doctor_page
    from .page import Page as Page
    from .page import PageSection as PageSection
    from .page import PageTable as PageTable
    from .page import Paragraph as Paragraph
    from .page import VerdictBox as VerdictBox
    from .page import page_libraries as page_libraries
    from .page import write_page as write_page
    from .papers import number as number
    from .papers import papers_page as papers_page
    from .papers import spread as spread
    from .papers import verdict_words as verdict_words
    from .replay import plan_page as plan_page
    from .replay import replay_page as replay_page
    from .simulation import JointTracking as JointTracking
    from .simulation import SimulatedRun as SimulatedRun
    from .simulation import simulation_page as simulation_page
    from .simulation import tracking as tracking
    from .tour import tour_page as tour_page
    from .track import track_page as track_page

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base_sensor": ("base_sensor_page",),
        "calibration": ("calibration_page", "verification_page"),
        "doctor": ("doctor_page",),
        "page": ("Page", "PageSection", "PageTable", "Paragraph", "VerdictBox", "write_page"),
        "papers": ("papers_page",),
        "replay": ("plan_page", "replay_page"),
        "simulation": ("simulation_page",),
        "tour": ("tour_page",),
        "track": ("track_page",),
    },
    shared={
        "calibration": ("gravity_share", "in_units", "verification_columns"),
        "page": ("page_libraries",),
        "papers": ("number", "spread", "verdict_words"),
        "simulation": ("JointTracking", "SimulatedRun", "tracking"),
    },
)
