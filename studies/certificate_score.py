"""Tables of the certificate study, from its rows.

A case is *inside* when the gravity error of every measured joint, root mean square over the recorded poses, is within
the tolerance. It is *certified* when a gravity error (95 %) within the tolerance is stated for every joint. Certified
and outside is a false certificate; so is a result with a statement on its list that the truth contradicts
(certificate_statements.py), whatever it certifies. Both counts are shown. Not certified although inside, or not
even fitted, is a false refusal where the ideal estimator would determine gravity to half of the tolerance. A motion
whose rate nothing tells (no times, no velocities) must be refused, and counts as none; nor is it a valid recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from certificate_findings import names

Row = Mapping[str, Any]
CLASSES = ("path", "fault", "friction", "arm", "description", "portion", "exchange", "clock", "velocity", "rate")
"""Labels by which cases are counted."""
WORSE = 1.05
"""An error after the fix may be this many times the one before."""
USES = ("hold", "float", "payload", "contact", "extrapolate")
"""What a calibration may say that it is good for."""


def tables(rows: Sequence[Row], classes: Sequence[str] = CLASSES) -> str:
    """Return all tables as Markdown, part by part.

    Args:
        rows: Of all parts.
        classes: Labels by which cases are counted.
    """
    lines: list[str] = []
    for part in sorted({row["part"] for row in rows}):
        own = [row for row in rows if row["part"] == part]
        lines += [f"## Part {part}: {len(own)} cases", "", *_run(own), ""]
        own = [row for row in own if not row.get("timed_out") and not row.get("broken")]
        lines += ["### Before the fix", "", *_certificates(own, _before, classes), ""]
        lines += ["### After the fix, where the doctor has one", "", *_certificates(own, _after, classes), ""]
        lines += [*_fixes(own), "", *_exchanges(own), "### Doctor", "", *_doctor(own), ""]
    return "\n".join(lines)


def false_certificate(result: Mapping[str, Any] | None) -> bool:
    """Say whether a result is certified and outside."""
    return _fitted(result) and result["certified"] and not result["inside"]


def false_statements(result: Mapping[str, Any] | None) -> list[str]:
    """Return the uses of which a result states what the truth contradicts."""
    return [one["use"] for one in result["statements"] if one["true"] is False] if _fitted(result) else []


def false_in_any_way(result: Mapping[str, Any] | None) -> bool:
    """Say whether a result is certified and outside, or states what the truth contradicts."""
    return false_certificate(result) or bool(false_statements(result))


def false_refusal(row: Row, result: Mapping[str, Any] | None) -> bool:
    """Say whether a recording that determines gravity is not certified, though the fit is inside or there is none."""
    return could_be_certified(row, result) and not (_fitted(result) and result["certified"])


def could_be_certified(row: Row, result: Mapping[str, Any] | None) -> bool:
    """Say whether the ideal estimator would determine gravity, something tells the rate, and no fit is outside."""
    return bool(row["determinable"]) and not rate_unknown(row) and (not _fitted(result) or result["inside"])


def rate_unknown(row: Row) -> bool:
    """Say whether a motion has neither times nor velocities: its rate is a guess, so nothing of it may be certified."""
    labels = row["labels"]
    return labels.get("clock") == labels.get("velocity") == "none" and not labels["path"].startswith("table")


def _fitted(result: Mapping[str, Any] | None) -> bool:
    return result is not None and not result["failure"]


def _before(row: Row) -> Mapping[str, Any] | None:
    return row["before"]


def _after(row: Row) -> Mapping[str, Any] | None:
    return row["before"] if row["after"] is None else row["after"]


def _run(rows: Sequence[Row]) -> list[str]:
    """Say how the run went."""
    seconds = [row["seconds"] for row in rows if "seconds" in row]
    late = [row["seed"] for row in rows if row.get("timed_out")]
    broken = [(row["seed"], row["broken"]) for row in rows if row.get("broken")]
    unread = [row["seed"] for row in rows if row.get("refused_by_reader")]
    failed = [row["seed"] for row in rows if row.get("before") and row["before"]["failure"]]
    commits = ", ".join(sorted({row.get("commit", "unknown")[:9] for row in rows}))
    lines = [f"Commit {commits}. Seconds per case: median {_median(seconds)}, largest {max(seconds, default=0.0):.0f}."]
    spent = [row["cpu"] for row in rows if "cpu" in row]
    steps = {
        step: [one.get(step, 0.0) for one in spent] for step in ("case", "read and doctor", "before", "after", "all")
    }
    told = ", ".join(f"{step} {np.mean(values):.1f}" for step, values in steps.items() if values)
    lines += [f"Time of the processor per case, mean [s]: {told or '–'}."]
    lines += [f"Over the time limit: {len(late)} {late[:10]}. Not read: {len(unread)} {unread[:10]}."]
    lines += [f"No fit, with one of our errors: {len(failed)} {failed[:10]}."]
    guessed = [row["seed"] for row in rows if rate_unknown(row)]
    lines += [f"Rate unknown, to be refused: {len(guessed)}."] if guessed else []
    return lines + ([f"Broken: {broken[:10]}"] if broken else [])


def _median(values: Sequence[float]) -> str:
    return f"{np.median(values):.1f}" if values else "–"


def _certificates(
    rows: Sequence[Row], of: Callable[[Row], Mapping[str, Any] | None], classes: Sequence[str]
) -> list[str]:
    """Return the table of certificates by class."""
    head = "| class | cases | outside | certified | false certificates | of the outside | with statements "
    head += "| could be certified | false refusals |"
    lines = [head, "|---|---|---|---|---|---|---|---|---|", _line("all", rows, of)]
    for label in classes:
        kinds = Counter(row["labels"].get(label) for row in rows)
        if len(kinds) > 1:
            for kind in sorted(kinds, key=str):
                lines.append(_line(f"{label}: {kind}", [r for r in rows if r["labels"].get(label) == kind], of))
    results = [of(row) for row in rows if _fitted(of(row))]
    lines += ["", *_statements([(row["seed"], of(row)) for row in rows if _fitted(of(row))])]
    loose = sum(result["trusted"] and not result["inside"] for result in results)
    lines += ["", f"TRUSTED and outside, whatever is stated: {_share(loose, len(rows))}."]
    confused = sum(
        false_certificate(result) and _holds(row, result)
        for row, result in ((row, of(row)) for row in rows)
        if result is not None
    )
    lines += [f"Of the false certificates, {confused} hold the arm all the same: offset and gravity are confused."]
    lines += [_coverage("all fits", results), _coverage("trusted fits", [r for r in results if r["trusted"]])]
    worse = sum(
        result["certified"] and result["worst"] > max(row["described"]["worst"], 1.0)
        for row, result in ((row, of(row)) for row in rows)
        if _fitted(result)
    )
    lines += [f"Certified, outside and worse than the untouched description: {worse}."]
    why = Counter(check for row in rows if false_refusal(row, of(row)) for check in _against(of(row)))
    told = ", ".join(f"{check} {count}" for check, count in why.most_common())
    return [*lines, f"What failed in false refusals: {told or 'nothing'}."]


def _against(result: Mapping[str, Any] | None) -> set[str]:
    """Return what kept a result from being certified."""
    if not _fitted(result):
        return {"no fit"}
    return set(result["failed"]) or {"a stated error beyond the tolerance"}


def _holds(row: Row, result: Mapping[str, Any]) -> bool:
    pairs = zip(result["error_with_offset"], result["tolerance"], row["measured"], strict=True)
    return all(error <= allowed for error, allowed, used in pairs if used)


def _line(name: str, rows: Sequence[Row], of: Callable[[Row], Mapping[str, Any] | None]) -> str:
    results = [(row, of(row)) for row in rows]
    fitted = [(row, result) for row, result in results if _fitted(result)]
    outside = sum(not result["inside"] for _, result in fitted)
    certified = sum(result["certified"] for _, result in fitted)
    wrong = sum(false_certificate(result) for _, result in fitted)
    could = sum(could_be_certified(row, result) for row, result in results)
    refused = sum(false_refusal(row, result) for row, result in results)
    any_way = sum(false_in_any_way(result) for _, result in fitted)
    cells = [name, len(rows), outside, certified, _share(wrong, len(rows)), _share(wrong, outside)]
    cells += [_share(any_way, len(rows)), could, _share(refused, could)]
    return "| " + " | ".join(map(str, cells)) + " |"


def _statements(results: Sequence[tuple[int, Mapping[str, Any]]]) -> list[str]:
    """Return the table of statements by use, from seeds and results."""
    lines = ["| statement | stated | judged | false | over the range | at the worst pose | false in seeds |"]
    lines.append("|---|---|---|---|---|---|---|")
    for use in USES:
        said = [(seed, one) for seed, result in results for one in result["statements"] if one["use"] == use]
        known = [(seed, one) for seed, one in said if one["true"] is not None]
        wrong = [seed for seed, one in known if not one["true"]]
        over, worst = ([one[key] for _, one in known if one[key] is not None] for key in ("over", "worst"))
        beyond = [f"{sum(value > 1.0 for value in values)} of {len(values)}" for values in (over, worst)]
        cells = [use, len(said), len(known), _share(len(wrong), len(known)), *beyond, wrong[:12]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _share(count: int, total: int) -> str:
    return f"{count} ({count / total:.0%})" if total else "–"


def _coverage(name: str, results: Iterable[Mapping[str, Any]]) -> str:
    covered = [share for result in results for share in result["covered"] if share is not None]
    shown = f"{np.mean(covered):.1%} of {len(covered)} joints' poses" if covered else "–"
    return f"2 σ covers, {name}: {shown}."


def _exchanges(rows: Sequence[Row]) -> list[str]:
    """Say how well the truth of recordings with an exchanged arm is known: what is left of the old arm's gravity."""
    found = []
    for how in sorted({row["labels"].get("exchange", "") for row in rows} - {""}):
        own = [row for row in rows if row["labels"]["exchange"] == how]
        names_of = sorted({row["labels"]["path"] for row in own})
        worst = [[_left(row) for row in own if row["labels"]["path"] == name] for name in names_of]
        told = ", ".join(f"{name} {np.median(left):.2g}" for name, left in zip(names_of, worst, strict=True))
        found.append(f"- {how}: {told}")
    head = "Gravity that plain least squares still finds without the arm, over the tolerance, worst joint, median:"
    return [head, "", *found, ""] if found else []


def _left(row: Row) -> float:
    pairs = zip(row["facts"]["exchange"], row["measured"], strict=True)
    return max((value for value, used in pairs if used), default=0.0)


def _fixes(rows: Sequence[Row]) -> list[str]:
    """Compare errors before and after the fix."""
    both = [row for row in rows if _fitted(row["before"]) and _fitted(row["after"])]
    worse = [row for row in both if row["after"]["worst"] > WORSE * row["before"]["worst"]]
    harmful = [row for row in worse if row["after"]["worst"] > 1.0]
    new = [row for row in both if false_in_any_way(row["after"]) and not false_in_any_way(row["before"])]
    lost = [row for row in rows if row["after"] is not None and row["after"]["failure"]]
    return [
        f"With a fix and a fit before and after it: {len(both)} of {len(rows)}. Error (worst joint, over its "
        f"tolerance) larger than {WORSE} times: {_share(len(worse), len(both))}, of which {len(harmful)} end outside: "
        f"{[row['seed'] for row in harmful]}. New false certificates, statements included: "
        f"{[row['seed'] for row in new]}. No fit after the fix: {len(lost)}."
    ]


def _doctor(rows: Sequence[Row]) -> list[str]:
    """Return false alarms, precision of fixes, and recall by fault."""
    sound = [row for row in rows if row["labels"]["fault"] == "none" and not rate_unknown(row)]
    alarmed = [row for row in sound if any(one["invalidates"] and not one["right"] for one in row["findings"])]
    lines = [f"Valid recordings with a wrong finding that invalidates: {_share(len(alarmed), len(sound))}.", ""]
    for kind in sorted({row["labels"]["description"] for row in sound}):
        own = [row for row in sound if row["labels"]["description"] == kind]
        lines.append(f"- description {kind}: {_share(sum(row in alarmed for row in own), len(own))}")
    said = [one for row in rows for one in row["findings"]]
    counted = Counter(one["fault"] for one in said)
    lines += ["", "| finding | said | true | written to a fix | of these true by name | and near in value |"]
    lines += ["|---|---|---|---|---|---|", _said_line("all", said)]
    lines += [_said_line(fault, [one for one in said if one["fault"] == fault]) for fault in sorted(counted)]
    lines += ["", "| fault put in | recordings | named | identifiable | named of these |", "|---|---|---|---|---|"]
    for fault in sorted({row["labels"]["fault"] for row in rows} - {"none"}):
        own = [row for row in rows if row["labels"]["fault"] == fault]
        can = [row for row in own if row["identifiable"]]
        hits, known = (sum(names(row["findings"], row["truths"][0]) for row in some) for some in (own, can))
        lines.append(f"| {fault} | {len(own)} | {_share(hits, len(own))} | {len(can)} | {_share(known, len(can))} |")
    return lines


def _said_line(name: str, said: Sequence[Mapping[str, Any]]) -> str:
    mends = [one for one in said if one["mends"]]
    exact = [one for one in mends if one["exact"]]
    near = [one for one in exact if one["near"] is not False]
    right = sum(one["right"] for one in said)
    cells = [name, len(said), _share(right, len(said)), len(mends)]
    return "| " + " | ".join(map(str, [*cells, _share(len(exact), len(mends)), _share(len(near), len(mends))])) + " |"
