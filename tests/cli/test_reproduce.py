"""The reproduce command."""

from __future__ import annotations

import pytest

from .conftest import Run, RunJson


def test_list_names_every_experiment(run: Run, run_json: RunJson) -> None:
    """As a table, and as JSON; no name at all lists too."""
    text = run("reproduce").stdout
    assert "morel-fig8" in text and "Table 1" in text
    known = {each["name"]: each for each in run_json("reproduce", "--list")["experiments"]}
    assert known["map"]["in_all"] is False and "4.76" in known["morel-fig8"]["claim"]


def test_an_experiment_prints_the_papers_number_beside_ours(run: Run, tmp_path) -> None:
    """With a verdict, and the page with its figure."""
    pytest.importorskip("plotly", reason="plotly is not installed")
    page = tmp_path / "papers.html"
    result = run("reproduce", "morel-fig4", "--seeds", 1, "--jobs", 1, "--page", page)
    assert result.exit_code == 0, result.output
    assert "50" in result.stdout and "eproduced." in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "Fig. 4a" in text and "http-equiv" in text


def test_json_document(run_json: RunJson) -> None:
    """Comparisons, verdict and seconds."""
    (done,) = run_json("reproduce", "morel-fig4", "--seeds", 2, "--jobs", 1)["experiments"]
    assert done["comparisons"][0]["printed"] == 50.0 and done["seconds"] > 0.0
    low, high = done["comparisons"][0]["spread"]
    assert low <= done["comparisons"][0]["ours"] <= high


def test_bad_command_lines(run: Run, run_json: RunJson) -> None:
    """Unknown names, pages that are none."""
    assert "there is no experiment" in run_json("reproduce", "fig99", exit_code=1)["error"]["message"]
    assert run("reproduce", "morel-fig4", "--page", "x.pdf").exit_code == 2
    assert run("reproduce", "--list", "morel-fig4").exit_code == 2
