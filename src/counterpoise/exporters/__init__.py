"""Robots written for other programs: C, URDF, MJCF."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .c_code import c_prefix as c_prefix
    from .urdf import urdf_text as urdf_text
    from .writing import LANGUAGES as LANGUAGES
    from .writing import copied_from as copied_from
    from .writing import export as export
    from .writing import language_of as language_of

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "writing": ("LANGUAGES", "export"),
    },
    shared={
        "c_code": ("c_prefix",),
        "urdf": ("urdf_text",),
        "writing": ("copied_from", "language_of"),
    },
)
