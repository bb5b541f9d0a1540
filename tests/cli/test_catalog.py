"""``counterpoise catalog``."""

from __future__ import annotations

import counterpoise as cp


def test_lists_every_arm_with_joints_mass_summary_sources_and_assumptions(run):
    result = run("catalog")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for entry in cp.catalog():
        assert f"{entry.name} {entry.joints} {entry.mass:.2f}" in text
    assert "Barrett WAM with wrist" in text
    assert "source: Barrett Technology, libbarrett" in text
    assert "assumed: every number" in text


def test_names_give_full_citations_and_reasons(run):
    result = run("catalog", "wam7", "puma560", env={"COLUMNS": "400"})
    assert result.exit_code == 0
    assert "commit 109faf60" in result.stdout
    assert "no Barrett document with them was at hand" in result.stdout
    assert "titan2" not in result.stdout


def test_json_holds_every_field(run_json):
    arms = {arm["name"]: arm for arm in run_json("catalog")["arms"]}
    assert set(arms) == {entry.name for entry in cp.catalog()}
    for entry in cp.catalog():
        arm = arms[entry.name]
        assert arm["joints"] == entry.joints and arm["mass"] == entry.mass and arm["summary"] == entry.summary
        assert tuple(arm["sources"]) == entry.sources and tuple(arm["assumed"]) == entry.assumed


def test_unknown_name_is_our_error(run):
    result = run("catalog", "wam8")
    assert result.exit_code == 1
    assert "did you mean" in result.stderr
