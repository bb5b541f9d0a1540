"""The folder in which the pages' snippets and commands run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that pages take for granted; see library/docs_material.py."""
    from library.docs_material import write_material  # skips where the libraries that write bags are missing

    folder = tmp_path_factory.mktemp("material")
    write_material(folder)
    return folder


@pytest.fixture
def reader_folder(material: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's own copy of it, entered."""
    folder = tmp_path / "reader"
    shutil.copytree(material, folder)
    monkeypatch.chdir(folder)
    return folder
