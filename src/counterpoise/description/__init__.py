"""Robot descriptions: pure data about links, joints and inertias, and the strict readers that make them."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .bundled import CatalogEntry as CatalogEntry
    from .bundled import catalog as catalog
    from .bundled import catalog_names as catalog_names
    from .bundled import read_bundled as read_bundled
    from .checks import MAX_GRAVITY as MAX_GRAVITY
    from .checks import MAX_LENGTH as MAX_LENGTH
    from .checks import MAX_MASS as MAX_MASS
    from .checks import TRIANGLE_TOLERANCE as TRIANGLE_TOLERANCE
    from .checks import ZERO_INERTIA as ZERO_INERTIA
    from .checks import checked as checked
    from .checks import resolved_mimics as resolved_mimics
    from .checks import unphysical_reason as unphysical_reason
    from .model import STANDARD_GRAVITY as STANDARD_GRAVITY
    from .model import Description as Description
    from .model import Inertia as Inertia
    from .model import Joint as Joint
    from .model import JointKind as JointKind
    from .model import Link as Link
    from .model import Mimic as Mimic
    from .reading import read_description as read_description
    from .urdf import parse_urdf as parse_urdf

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bundled": ("CatalogEntry", "catalog", "catalog_names"),
        "model": ("Description", "Inertia", "Joint", "JointKind", "Link", "Mimic", "STANDARD_GRAVITY"),
        "reading": ("read_description",),
        "urdf": ("parse_urdf",),
    },
    shared={
        "bundled": ("read_bundled",),
        "checks": (
            "MAX_GRAVITY",
            "MAX_LENGTH",
            "MAX_MASS",
            "TRIANGLE_TOLERANCE",
            "ZERO_INERTIA",
            "checked",
            "resolved_mimics",
            "unphysical_reason",
        ),
    },
)
