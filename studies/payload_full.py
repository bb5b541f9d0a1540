"""Payload on fully simulated arms: loads that are really attached, and empty arms on which nothing may be found.

    python studies/payload_full.py --runs 40 --empty-runs 60      goes on from the runs that are in the JSON already
    python studies/payload_full.py --runs 0 --empty-runs 0        only writes the docs' tables and figure

Every run simulates the preset in full (LuGre friction, gears, encoders, torque constants 1 to 2 % off, ripple, noise, a
plate with cross-talk and drift). PD with the gravity of a description whose masses are off by 10 % (one standard
deviation) takes the arm to EMPTY_POSES design poses, then a load of 1 kg is attached, of which the controller does not
know, and LOADED_POSES more follow. Two estimators watch the same run, by the 20 ms means that they would make
themselves: one with joint torques alone, one with the plate as well. Loads go around the links; on each, they lie
anywhere along it and up to 10 cm beside it. Every other one on the last link lies on its axis, as a gripper holds it:
no torque tells that one from a load on the link before.

Settings of the estimator were chosen on seeds below JUDGING_SEED (1, 2, 8, 9, 100 to 110, 200 to 208, 300 to 323);
figures are of seeds from there on.
"""

from __future__ import annotations

import argparse
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from docs_page import commit, put
from payload_arms import draw_reliability, drawn_arm, drawn_com

from counterpoise.control import ControlLoop, PDGravity, PoseList, default_gains
from counterpoise.errors import CounterpoiseError
from counterpoise.identification import design_poses
from counterpoise.plants import AttachPayload, SimulatedArm, preset
from counterpoise.recording import Sample
from counterpoise.sensing import PayloadEstimator, Places, WrenchFrame, places_of

ARMS = ("wam7:plate", "puma550")
JUDGING_SEED = 400
MASS = 1.0
EMPTY_POSES, LOADED_POSES = 8, 12
DWELL = 1.2
SLOT = 0.02
EMPTY_TIME = 60.0
BINS = np.array([0.0, 0.1, 0.35, 0.65, 0.9, 0.97, 1.0 + 1e-9])
"""Of stated probabilities, for the reliability table."""
OWN_ROW = 3
"""A link has its own row where it was loaded this many times."""
WAYS = ("joints", "joints + plate")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "payload-and-contact.md"
FIGURE = PAGE.parent / "figures" / "payload-reliability-full.png"


def drawn_load(places: Places, seed: int) -> tuple[str, tuple[float, ...], bool]:
    """Return link and centre of mass (link frame) of a run's load, and whether it lies on the last axis."""
    random = np.random.default_rng(seed)
    cases = [*range(1, len(places.links)), -1]
    place = cases[seed % len(cases)]
    if place == -1:
        place, along = len(places.links) - 1, random.uniform(0.03, 0.12)
        axis = places.robot.tree.joint_rotation[places.bodies[place]].T @ np.array([0.0, 0.0, 1.0])
        centre = places.centre[place]
        point = axis * (float(axis @ centre) + along)
        return places.links[place], tuple(places.com_in_link(place, point).tolist()), True
    return places.links[place], tuple(drawn_com(places, place, random).tolist()), False


def recorded(name: str, seed: int, load: tuple[str, tuple[float, ...]] | None, poses: int) -> dict[str, Any]:
    """Simulate one run and return its means over SLOT seconds: q, dq, torques and wrenches, shape (k, 3n + 6)."""
    base, _, variant = name.partition(":")
    made = preset(base, variant or None)
    true = made.robot()
    known = drawn_arm(true, np.random.default_rng(seed))
    speed = np.minimum(0.5 * np.asarray(made.arm().velocity_limit), 1.5)
    goals = list(design_poses(true, poses, seed))
    before = PoseList(goals[:EMPTY_POSES], speed=speed, dwell=DWELL)
    before.reset(np.asarray(made.config.position))
    events = ()
    if load is not None:
        events = (AttachPayload(time=before.duration, mass=MASS, com=load[1], link=load[0]),)
    arm = SimulatedArm(true, made.config.replaced(seed=seed, events=events))
    if arm.plate is None:
        raise SystemExit("this study needs presets with a plate")
    frame = WrenchFrame.checked(arm.plate.T_base_sensor, arm.plate.reads)
    reference = PoseList(goals, speed=speed, dwell=DWELL)
    samples: list[npt.NDArray[np.float64]] = []
    most = EMPTY_TIME / arm.dt if load is None else np.inf

    def watch(sample: Sample) -> bool:
        wrench = np.full(6, np.nan) if sample.wrench is None else frame.wrench(sample.wrench)
        samples.append(np.concatenate([sample.q, sample.dq, sample.tau, wrench]))
        return len(samples) >= most

    stopped = ""
    with arm:
        start = arm.read().q
        reference.reset(start)
        gains = default_gains(known, start, arm.effort_limit, arm.dt)
        law = PDGravity(known, gains.kp, gains.kd, reference)
        try:
            ControlLoop(arm, law, known).run(reference.duration + 0.5 * DWELL, until=watch)
        except CounterpoiseError as fault:
            stopped = str(fault)
    each = round(SLOT / arm.dt)
    whole = len(samples) // each
    means = np.array(samples[: whole * each]).reshape(whole, each, -1).mean(axis=1)
    return {"means": means, "stopped": np.array(stopped)}


def watched_run(
    name: str, seed: int, load: tuple[str, tuple[float, ...]] | None, poses: int, cache: Path | None
) -> dict[str, Any]:
    """Let both estimators watch one run, simulated or from the cache, and return what each found."""
    base = name.partition(":")[0]
    made = preset(base)
    kept = None if cache is None else cache / f"{base}-{'empty' if load is None else 'loaded'}-{seed}.npz"
    if kept is not None and kept.exists():
        with np.load(kept) as file:
            run = dict(file)
    else:
        run = recorded(name, seed, load, poses)
        if kept is not None:
            np.savez_compressed(kept, **run)
    known = drawn_arm(made.robot(), np.random.default_rng(seed))
    friction = made.config.drive.friction
    if friction is None:
        raise SystemExit("this study needs presets with friction")
    n = known.n
    band = np.broadcast_to(np.asarray(friction.coulomb, dtype=np.float64), (n,))
    seconds = round(SLOT * len(run["means"]), 1)
    result: dict[str, Any] = {"arm": base, "seed": seed, "seconds": seconds, "stopped": str(run["stopped"])}
    for way in WAYS:
        estimator = PayloadEstimator(known, SLOT, friction_band=band)
        for row in run["means"]:
            wrench = row[3 * n :] if way == WAYS[1] else None
            estimator.update(row[:n], row[n : 2 * n], row[2 * n : 3 * n], wrench)
        found = estimator.update_estimate()
        result[way] = {
            "detected": found.detected,
            "link": found.link,
            "links": {link: round(share, 5) for link, share in found.links.items() if share > 1e-4},
            "link_set": list(found.link_set),
            "mass": round(found.mass, 5) if found.detected else None,
            "mass_std": round(found.mass_std, 5) if found.detected else None,
            "mass_known": found.mass_known,
            "like_weight": round(found.like_weight, 5),
            "widening": round(found.widening, 3),
            "poses": found.poses,
            "events": [event.kind for _, event in estimator.events],
        }
    return result


def loaded_run(name: str, seed: int, cache: Path | None) -> dict[str, Any]:
    """Attach a load during a run."""
    places = places_of(preset(name.partition(":")[0]).robot())
    link, com, on_axis = drawn_load(places, seed)
    found = watched_run(name, seed, (link, com), EMPTY_POSES + LOADED_POSES, cache)
    return found | {"link": link, "com": [round(value, 4) for value in com], "on_axis": on_axis}


def empty_run(name: str, seed: int, cache: Path | None) -> dict[str, Any]:
    """Let an empty arm move for EMPTY_TIME."""
    return watched_run(name, seed, None, 30, cache)


def group(places: Places, runs: list[dict[str, Any]], way: str) -> list[str]:
    """Return the cells of one row of the table."""
    found = [run[way] | {"true": run["link"]} for run in runs]
    right = np.mean([one["link"] == one["true"] for one in found])
    near = np.mean([one["link"] is not None and places.neighbours(one["link"], one["true"]) for one in found])
    seen = [one for one in found if one["detected"]]
    if not seen:
        return [f"{len(found)}", "0%", "0%", "0%", *["–"] * 6]
    inside = np.mean([one["true"] in one["link_set"] for one in seen])
    error = np.array([one["mass"] / MASS - 1.0 for one in seen])
    z = error * MASS / np.array([one["mass_std"] for one in seen])
    return [
        *(f"{len(found)}", f"{np.mean([one['detected'] for one in found]):.0%}", f"{right:.0%}", f"{near:.0%}"),
        *(f"{inside:.0%}", f"{np.median(np.abs(error)):.1%}", f"{np.mean(np.abs(error) < 0.1):.0%}"),
        *(f"{np.mean(np.abs(error) < 0.03):.0%}", f"{np.sqrt(np.mean(z**2)):.2f}", f"{np.mean(np.abs(z) < 2.0):.0%}"),
    ]


COLUMNS = (
    *("arm", "sensing", "1 kg on", "runs", "found", "right link", "within one", "in the set"),
    *("mass error, median", "within 10 %", "within 3 %", "z rms", "within 2 σ"),
)


def table(results: dict[str, Any]) -> list[str]:
    """Return the docs' table of the loaded runs."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name in ARMS:
        base = name.partition(":")[0]
        places = places_of(preset(base).robot())
        done = [run for run in results["loaded"] if run["arm"] == base and not run["stopped"]]
        runs = [run for run in done if not run["on_axis"]]
        held = [run for run in done if run["on_axis"]]
        felt = [run for run in runs if run["link"] in places.identifiable_links()]
        rows = [(WAYS[0], link, [run for run in felt if run["link"] == link]) for link in places.identifiable_links()]
        rows = [row for row in rows if len(row[2]) >= OWN_ROW]
        rows += [(WAYS[0], "all where the mass is felt", felt), (WAYS[0], f"{places.links[-1]}, on its axis", held)]
        rows += [(WAYS[1], "all", runs), (WAYS[1], f"{places.links[-1]}, on its axis", held)]
        for way, text, chosen in rows:
            if chosen:
                lines.append(f"| {' | '.join([base, way, text, *group(places, chosen, way)])} |")
    return lines


def reliability(results: dict[str, Any]) -> list[dict[str, float]]:
    """Return how often a link of some stated probability was the right one, all runs and both ways together."""
    pairs = [
        (share, link == run["link"])
        for run in results["loaded"]
        if not run["stopped"]
        for way in WAYS
        for link, share in run[way]["links"].items()
    ]
    stated, right = (np.array(column) for column in zip(*pairs, strict=True))
    rows = []
    for low, high in pairwise(BINS):
        inside = (stated >= max(low, 1e-3)) & (stated < high)
        count = int(inside.sum())
        if count:
            share = float(right[inside].mean())
            error = float(np.sqrt(max(share * (1.0 - share), 0.25 / count) / count))
            rows.append({"stated": float(stated[inside].mean()), "found": share, "error": error, "count": count})
    return rows


def sentences(results: dict[str, Any]) -> list[str]:
    """Return what else the runs say."""
    empty = results["empty"]
    alarms = sum(bool(run[way]["events"]) for run in empty for way in WAYS)
    seconds = sum(run["seconds"] for run in empty)
    stopped = [run for run in results["loaded"] if run["stopped"]]
    rows = reliability(results)
    told = ", ".join(f"{row['stated']:.0%} → {row['found']:.0%} ± {row['error']:.0%} ({row['count']})" for row in rows)
    return [
        f"Reliability, stated → right (how many): {told}.",
        "",
        f"Empty arms, full simulation: {alarms} false detections in {len(empty)} runs of {EMPTY_TIME:g} s "
        f"({seconds / 60.0:.0f} minutes; both ways of sensing watch each run), masses 10 % off.",
        f"Of {len(results['loaded'])} loaded runs {len(stopped)} were stopped by the safety filter before the end "
        "and are not counted.",
    ]


def main() -> None:
    """Run what is asked for, keeping every run, and write tables and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="loaded runs per arm, those in the JSON included")
    parser.add_argument("--empty-runs", type=int, default=150, help="empty runs per arm, likewise")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--cache", type=Path, help="folder in which simulated runs are kept and looked for")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"loaded": [], "empty": []}
    if chosen.out.exists():
        results = json.loads(chosen.out.read_text(encoding="utf-8"))
    for kind, count, simulate in (("loaded", chosen.runs, loaded_run), ("empty", chosen.empty_runs, empty_run)):
        for index in range(count):
            for name in chosen.arms:
                seed = JUDGING_SEED + index
                if any(run["arm"] == name.partition(":")[0] and run["seed"] == seed for run in results[kind]):
                    continue
                results[kind].append(simulate(name, seed, chosen.cache))
                results |= {"seed": JUDGING_SEED, "commit": commit()}
                chosen.out.write_text(json.dumps(results) + "\n", encoding="utf-8")
                print(kind, json.dumps(results[kind][-1]), flush=True)
    lines = [*table(results), "", *sentences(results)]
    print("\n".join(lines))
    if chosen.out == parser.get_default("out"):
        put(PAGE, "full", lines)
        draw_reliability(reliability(results), "stated probability of a link, full simulations", FIGURE)


if __name__ == "__main__":
    main()
