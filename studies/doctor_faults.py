"""How many faults the doctor names, and how often it cries wolf: the study behind docs/doctor-study.md.

    python studies/doctor_faults.py            # about an hour on two cores; writes JSON and page
    python studies/doctor_faults.py --small    # less than a minute; writes nothing

Every recording is made with a seed of its own. Thresholds were chosen on the seeds below 1000; this script judges from
JUDGED on. The doctor's model is off by 10 % in every mass and 10 mm in every centre of mass.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two processes share two cores

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit
from doctor_channel_faults import FAULTS as CHANNEL_FAULTS
from doctor_model_faults import INJECTIONS, SMALL, Expected, Unsuitable, felt, random_mount, random_payload
from doctor_recordings import ARMS, MOTIONS, Recording, record

from counterpoise import Log
from counterpoise.doctor import Consequence, Diagnosis, LogFault, diagnose

JUDGED = 40_000
"""First seed of the recordings that judge."""
CLEAN = 306
"""Valid recordings."""
TRIALS = 60
"""Recordings that each fault is put into: 20 of each arm, 6 or 7 with each motion; some have no joint to show it."""
CHANNEL_TRIALS = 9
"""Trials of each fault of channels and time here; studies/doctor_channel_faults.py has the full number."""
PAIRS = 60
"""Recordings with two faults at once."""
PROCESSES = 2
SIMULATED = ("mount", "payload")
SECOND_ALONE = frozenset({"degrees", "motor side", "effort is current", "all effort signs"})
"""Faults of all joints at once: of two in a pair at most one is of these."""
SENSELESS = ({"gain", "effort is current"}, {"gain", "gravity compensated"})
"""Pairs of which one hides the other: a current has no gain to be wrong, and without gravity no gain shows. Of what was
recorded at the motors nothing else can be said."""
CHANNELS = Path(__file__).with_name("doctor_channel_faults.json")
DOCS = Path(__file__).parents[1] / "docs" / "doctor-study.md"

Row = dict[str, Any]


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="nine recordings; prints only")
    parser.add_argument("--seed", type=int, default=JUDGED, help="first seed")
    parser.add_argument("--tables", action="store_true", help="write the page again from the JSON")
    given = parser.parse_args()
    path = Path(__file__).with_suffix(".json")
    if given.tables:
        DOCS.write_text(page(json.loads(path.read_text()), json.loads(CHANNELS.read_text())))
        return
    tasks = small_tasks(given.seed) if given.small else all_tasks(given.seed)
    rows: list[Row] = []
    with get_context("spawn").Pool(1 if given.small else PROCESSES) as pool:
        for number, done in enumerate(pool.imap_unordered(run, tasks), start=1):
            rows += done
            print(f"\r{number} of {len(tasks)} recordings", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    result = {
        "seed": given.seed,
        "commit": commit(),
        "rows": sorted(rows, key=lambda row: (row["put_in"], row["seed"])),
    }
    print(summary(result))
    if not given.small:
        path.write_text(as_text(result))
        DOCS.write_text(page(result, json.loads(CHANNELS.read_text())))


# ------------------------------------------------------------------------------------------------------- what is tried


def all_tasks(first_seed: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return (seed, faults to put in, one recording each) for the full study; arms and motions take turns."""
    kinds: list[list[str]] = [["clean"] for _ in range(CLEAN)]
    for trial in range(TRIALS):
        kinds[trial] += [*INJECTIONS, *SMALL, *SIMULATED]
    for trial in range(CHANNEL_TRIALS):
        kinds[TRIALS + trial] += [fault.value for fault in CHANNEL_FAULTS]
    for trial in range(PAIRS):
        kinds[CLEAN - 1 - trial].append("pair")
    return [(first_seed + index, tuple(faults)) for index, faults in enumerate(kinds)]


def small_tasks(first_seed: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return a few of them: each arm and motion, each fault of the model once."""
    tasks = [(first_seed + index, ("clean",)) for index in (0, 4, 8)]
    chosen = list(INJECTIONS)
    return [(seed, (*kinds, *chosen[index::3])) for index, (seed, kinds) in enumerate(tasks)]


def run(task: tuple[int, tuple[str, ...]]) -> list[Row]:
    """Make one recording, put in each fault by itself and return what the doctor says."""
    seed, kinds = task
    arm, motion = list(ARMS)[seed % 3], MOTIONS[seed // 3 % 3]
    random = np.random.default_rng([seed, 1])
    duration = 40.0 if motion == "visits" else float(random.uniform(20.0, 40.0))
    made = record(arm, motion, seed, duration=duration)
    rows = []
    for kind in kinds:
        try:
            recording, log, expected = put_in(kind, made, duration, random)
        except Unsuitable:
            continue
        diagnosis = diagnose(recording.model, log)
        rows.append(_row(kind, made, expected, diagnosis))
    return rows


def put_in(
    kind: str, made: Recording, duration: float, random: np.random.Generator
) -> tuple[Recording, Log, tuple[Expected, ...]]:
    """Return the recording with a fault in it, and what must be named."""
    if kind == "clean":
        return made, made.log, ()
    if kind == "mount":
        tilted = record(made.arm, made.motion, made.seed, duration=duration, mount_rpy=random_mount(random))
        return tilted, tilted.log, (Expected(LogFault.MOUNT),)
    if kind == "payload":
        load = random_payload(made.arm, random)
        carrying = record(made.arm, made.motion, made.seed, duration=duration, payload=load)
        return carrying, carrying.log, (Expected(LogFault.PAYLOAD),)
    if kind == "pair":
        return _pair(made, random)
    if kind in INJECTIONS | SMALL:
        log, expected = (INJECTIONS | SMALL)[kind](made, made.log, random)
        return made, log, (expected,)
    fault = LogFault(kind)
    return made, CHANNEL_FAULTS[fault](made.log, random), (Expected(fault),)


def _pair(made: Recording, random: np.random.Generator) -> tuple[Recording, Log, tuple[Expected, ...]]:
    """Put two different faults in, on different joints where they have joints."""
    while True:
        first, second = random.choice(sorted(INJECTIONS), 2, replace=False).tolist()
        if {first, second} <= SECOND_ALONE or {first, second} in SENSELESS or "motor side" in (first, second):
            continue
        log, one = INJECTIONS[first](made, made.log, random)
        log, two = INJECTIONS[second](made, log, random)
        if not set(one.joints) & set(two.joints) or len(felt(made)) < 3:
            return made, log, (one, two)


def _row(kind: str, made: Recording, expected: Sequence[Expected], diagnosis: Diagnosis) -> Row:
    """Return what was said, as plain values; notes count only where they are what was put in."""
    wanted = {entry.fault for entry in expected}
    counted = [f for f in diagnosis.findings if f.consequence > Consequence.NOTE or f.fault in wanted]
    return {
        "put_in": kind,
        "expected": [{"fault": entry.fault.value, "joints": list(entry.joints)} for entry in expected],
        "hit": [entry.named_by(diagnosis.findings) for entry in expected],
        "named": [
            {"fault": f.fault.value, "subjects": list(f.subjects), "alternatives": list(f.alternatives)}
            for f in counted
        ],
        "arm": made.arm,
        "motion": made.motion,
        "seed": made.seed,
    }


# ------------------------------------------------------------------------------------------------------------- results


def summary(result: dict[str, Any]) -> str:
    """Return recall, false alarms and pairs in a few lines."""
    lines = []
    for kind, rows in _by_kind(result):
        hits = sum(all(row["hit"]) for row in rows)
        if kind == "clean":
            alarms = sum(bool(row["named"]) for row in rows)
            lines.append(f"valid recordings with an alarm: {alarms} of {len(rows)} ({100 * alarms / len(rows):.1f} %)")
        elif kind == "pair":
            lines.append(f"two faults at once, both named: {hits} of {len(rows)} ({100 * hits / len(rows):.0f} %)")
        else:
            lines.append(f"{kind}: {hits} of {len(rows)}")
    return "\n".join(lines)


def as_text(result: dict[str, Any]) -> str:
    """Return the results as JSON, a line a trial."""
    head = json.dumps({key: value for key, value in result.items() if key != "rows"})
    rows = ",\n".join(json.dumps(row) for row in result["rows"])
    return f'{head[:-1]}, "rows": [\n{rows}\n]}}\n'


def channel_section(found: dict[str, Any]) -> str:
    """Return the part of the page about channels, time, coverage and plate."""
    alarms = Counter(sentence.split(":")[0] for entry in found["false_alarms"] for sentence in entry["alarms"])
    listed = "; ".join(f"{what} ({count})" for what, count in alarms.most_common()) or "none"
    lines = [
        "\n## Channels, time, coverage and plate\n",
        f"The checks that need no search, by `studies/doctor_channel_faults.py` (seeds {found['seeds'][0]} to "
        f"{found['seeds'][1]}, commit {found['commit'][:10]}), a plate under every arm. {found['with_false_alarm']} of "
        f"{found['good_recordings']} valid recordings raise an alarm: {listed}.\n",
        "| put in | recall | named besides |",
        "|---|---|---|",
    ]
    for fault, (hits, count) in found["recall"].items():
        besides: Counter[str] = Counter()
        for names, times in found["named"][fault].items():
            besides.update(dict.fromkeys({name for name in names.split(", ") if name not in (fault, "nothing")}, times))
        ranked = sorted(besides.items(), key=lambda entry: (-entry[1], entry[0]))
        others = ", ".join(f"{name} {times}" for name, times in ranked)
        lines.append(f"| {fault} | {hits}/{count} ({100.0 * hits / count:.0f} %) | {others} |")
    return "\n".join(lines) + "\n"


def page(result: dict[str, Any], channels: dict[str, Any]) -> str:
    """Return the docs' page from the results of this study and of studies/doctor_channel_faults.py."""
    rows = dict(_by_kind(result))
    clean, pairs = rows["clean"], rows["pair"]
    alarms = [row for row in clean if row["named"]]
    both = sum(all(row["hit"]) for row in pairs)
    said = Counter(finding["fault"] for row in alarms for finding in row["named"])
    listed = ", ".join(f"{fault} {count}" for fault, count in said.most_common()) or "none"
    text = _HEAD.format(seed=result["seed"], commit=result["commit"][:10], trials=TRIALS, clean=len(clean))
    text += (
        f"\n## Valid recordings\n\n{len(alarms)} of {len(clean)} recordings raise an alarm "
        f"({100.0 * len(alarms) / len(clean):.1f} %): {listed}.\n\n## Recall and confusion\n\n"
    )
    text += _matrix({kind: rows[kind] for kind in (*INJECTIONS, *SIMULATED)})
    text += (
        "\nBelow those sizes the data often do not decide, and the doctor says nothing rather than something false:\n\n"
    )
    text += _matrix({kind: rows[kind] for kind in SMALL})
    text += (
        "\nFaults of channels and time, as the whole doctor names them; few trials, see the next table for more:\n\n"
    )
    text += _matrix({kind: entries for kind, entries in rows.items() if kind in {f.value for f in CHANNEL_FAULTS}})
    text += channel_section(channels)
    text += (
        f"\n## Two faults at once\n\nBoth are named in {both} of {len(pairs)} recordings "
        f"({100.0 * both / len(pairs):.0f} %). Pairs of which one was missed:\n\n"
    )
    missed = Counter(_missed_pair(row) for row in pairs if not all(row["hit"]))
    text += "".join(f"- {what}: {count}\n" for what, count in missed.most_common()) or "- none\n"
    return text + _FOOT


def _matrix(rows: dict[str, list[Row]]) -> str:
    """Return a table: put in, recall, and how often each other finding was named besides."""
    named = sorted({finding["fault"] for entries in rows.values() for row in entries for finding in row["named"]})
    lines = [f"| put in | recall | {' | '.join(named)} |", f"|---|---|{'---|' * len(named)}"]
    for kind, entries in rows.items():
        counts = Counter(fault for row in entries for fault in {finding["fault"] for finding in row["named"]})
        hits = sum(all(row["hit"]) for row in entries)
        cells = " | ".join(str(counts[fault]) if counts[fault] else "" for fault in named)
        lines.append(f"| {kind} | {hits}/{len(entries)} ({100.0 * hits / len(entries):.0f} %) | {cells} |")
    return "\n".join(lines) + "\n"


def _missed_pair(row: Row) -> str:
    parts = [
        f"{entry['fault']}{'' if hit else ' (missed)'}" for entry, hit in zip(row["expected"], row["hit"], strict=True)
    ]
    return " + ".join(parts)


def _by_kind(result: dict[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    for kind in dict.fromkeys(row["put_in"] for row in result["rows"]):
        yield kind, [row for row in result["rows"] if row["put_in"] == kind]


_HEAD = """# The doctor's study

What the doctor names when a fault is put into a recording, and what it says of valid ones. Made by
`studies/doctor_faults.py` (first seed {seed}, commit {commit}); thresholds were chosen on other seeds.

**Recordings.** Three simulated arms: a geared PUMA 550, a cable-driven WAM with wrist and a hydraulic Titan II,
each with stick friction, ripple, noise, coarse encoders and delay (see [simulated-arm](simulated-arm.md)). Three
motions: multi-sine, poses visited from both sides (40 s), slow sweeps; 20 to 40 s at about 100 samples a second. The
doctor's model is wrong in every link: mass 10 % too large or too small, centre of mass 10 mm away in a random
direction. Up to {trials} trials of each fault, {clean} valid recordings, each with a seed of its own.

**Sizes.** Signs: one joint whose effort friction and model explain to 30 % or more. Order: a joint whose gravity
torque varies by half its effort or more, exchanged with another. Current: 3 to 30 N m per unit, each joint its own.
Motor side: gear ratios 30 to 160, some negative. Gain: 1.7 to 3 times too large or small, on a joint whose gravity
torque varies by half its effort or more. Offset: 1 to 2 standard deviations of an effort that friction and model
explain to 60 % or more. A recording without such a joint is left out. Mount: tilted by 15° to 90°. Payload: 2 to 4 kg
(PUMA), 1 to 3 kg (WAM), 8 to 15 kg (Titan). Gravity compensated: by the robot's own model, good to 5 % and 5 mm.

**Counting.** A fault counts as named when a finding names it with the right joints, alone or in a set of
alternatives that the data cannot distinguish. An alarm is a finding worse than a note. The columns count recordings
in which a finding was named at all.
"""

_FOOT = """
## What cannot be distinguished

- **Effort or position reversed** on a joint that gravity does not load (a vertical first axis, a wrist roll):
  friction shows that one of them is, not which. Both are named.
- **Effort and position reversed together** on such a joint: nothing shows it, and little depends on it.
- **Whole joints exchanged** where neither carries gravity: friction goes along with its joint.
- **Gain and mass**: links that are all as much heavier look like a gain where no other joint contradicts.
- **Current or motor-side torque** with positions of the links: one unknown factor per joint either way.
- **Degrees with currents, or the motors' own angles**: where gear ratios lie near 57, ranges alone do not decide.
- **All efforts reversed, or the arm upside down**, when it moves so slowly and smoothly that neither inertia nor
  friction shows.
- **Yaw of the mounting** about the vertical: gravity stays the same.
"""


if __name__ == "__main__":
    main()
