"""Payload: which link, how heavy, how sure, how often wrongly; and what a tick costs.

    python studies/payload.py              # some minutes; writes the JSON and the figure beside the docs' tables
    python studies/payload.py --parts identification ticks     only these, with the friction of the last whole run

Friction is not invented: simulated arms (presets ``wam7`` and ``puma550``: LuGre friction, gears, encoders, noise) go
to poses under PD with gravity; what their drives hold at rest beside the weight, per joint and side of approach, is
collected. The statistics then draw from these residues: poses at rest are the analytic weight of the loaded arm plus
residues of as many poses of the simulation, plus the plate's scatter. Empty arms come to rest as the simulated ones
did. Loads lie anywhere along their link and up to
10 cm beside it, which is not the estimator's own prior. The baseline is what 25 empty poses tell, the description's
masses being off by 10 % (one standard deviation).

Full simulations, in which the load is really attached, check a few cases.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit, put
from payload_arms import (
    SEED,
    SLOT,
    Arm,
    arm_of,
    draw_reliability,
    drawn_arm,
    drawn_com,
    held,
    one_rest,
    random_poses,
    simulated_arm,
)

from counterpoise.foundation import frozen
from counterpoise.plants import preset
from counterpoise.recording import SampleFlag
from counterpoise.sensing import ExternalTorque, PayloadEstimator, estimate_payload, tip_wrench, touched_link
from counterpoise.tasks import Load, track_simulated

ARMS = ("wam7", "puma550")
MASSES = (1.0, 3.0)
POSES, EMPTY_POSES = 12, 25
EMPTY_SEEDS = (1000, 1001, 1002)
BINS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 1.0 + 1e-9])
"""Of stated probabilities, for the reliability table."""


def identification(arm: Arm, draws: int, plate: bool, random: np.random.Generator) -> list[dict[str, Any]]:
    """Put loads on every link and look for them; one record per draw."""
    records = []
    for place, link in enumerate(arm.places.links):
        if arm.places.felt[place] == 0 and not (plate and place > 0):
            continue
        for mass in MASSES:
            for _ in range(draws):
                true = drawn_arm(arm.robot, random)
                loaded = true.with_payload(mass, com=drawn_com(arm.places, place, random).tolist(), link=link)
                found = estimate_payload(
                    arm.robot,
                    *held(arm, loaded, POSES, random, plate),
                    empty=held(arm, true, EMPTY_POSES, random, plate),
                    friction_band=arm.band,
                    scatter=np.maximum(arm.scatter, 0.02 * arm.band),
                )
                right = found.link == link
                records.append(
                    {
                        "link": link,
                        "felt": arm.places.mass_felt[place],
                        "mass": mass,
                        "detected": found.detected,
                        "right": right,
                        "near": found.link is not None and arm.places.neighbours(found.link, link),
                        "in_set": link in found.link_set,
                        "known": found.mass_known,
                        "error": found.mass / mass - 1.0,
                        "z": (found.mass - mass) / max(found.mass_std, 1e-9),
                        "shares": [(share, name == link) for name, share in found.links.items()],
                        "advice": "plate" in found.advice,
                    }
                )
    return records


def summary(records: list[dict[str, Any]]) -> dict[str, float]:
    """Return shares and errors of some draws."""
    found = [record for record in records if record["detected"]]
    sizes = np.array([abs(record["error"]) for record in found])
    return {
        "draws": len(records),
        "detected": float(np.mean([record["detected"] for record in records])),
        "right": float(np.mean([record["right"] for record in records])),
        "near": float(np.mean([record["near"] for record in records])),
        "in_set": float(np.mean([record["in_set"] for record in found])) if found else 0.0,
        "mass_known": float(np.mean([record["known"] for record in found])) if found else 0.0,
        "median_error": float(np.median(sizes)) if found else float("nan"),
        "rms_error": float(np.sqrt(np.mean(sizes**2))) if found else float("nan"),
        "within_10": float(np.mean(sizes < 0.1)) if found else 0.0,
        "within_3": float(np.mean(sizes < 0.03)) if found else 0.0,
        "z_rms": float(np.sqrt(np.mean([record["z"] ** 2 for record in found]))) if found else float("nan"),
        "advises_plate": float(np.mean([record["advice"] for record in found])) if found else 0.0,
    }


def reliability(records: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Return how often a link of some stated probability was the right one."""
    stated, right = (np.array(column) for column in zip(*[s for r in records for s in r["shares"]], strict=True))
    rows = []
    for low, high in pairwise(BINS):
        inside = (stated >= low) & (stated < high) & (stated > 1e-3)
        if inside.any():
            rows.append(
                {
                    "stated": float(stated[inside].mean()),
                    "found": float(right[inside].mean()),
                    "count": int(inside.sum()),
                }
            )
    return rows


def empty_runs(arm: Arm, runs: int, random: np.random.Generator) -> dict[str, float]:
    """Let an empty arm move for 60 s, 30 poses, and count the loads that are found all the same.

    Each joint comes to rest as one of the simulation did, settling back included, and rests on what that one rested on.
    """
    alarms, poses = 0, 0
    steps = round(1.0 / SLOT)
    for _ in range(runs):
        true = drawn_arm(arm.robot, random)
        goals = random_poses(arm.robot, 31, random, 0.85)
        estimator = PayloadEstimator(arm.robot, SLOT, friction_band=arm.band)
        for before, goal in pairwise(goals):
            sign = np.sign(goal - before)
            residue, motion, torque = one_rest(arm, sign, random)
            stand = np.zeros((max(steps - len(motion), 0), arm.robot.n))
            rest, beside = goal + np.vstack([motion, stand]), np.vstack([torque, stand + residue])
            way = before + np.outer(np.linspace(0.0, 1.0, 2 * steps - len(rest)), rest[0] - before)
            for q, tau in zip(way, true.gravity(way) + sign * arm.band, strict=True):
                estimator.update(q, goal - before, tau)
            beside += 0.02 * arm.band * random.normal(size=rest.shape)
            speed = np.diff(rest, axis=0, prepend=rest[:1]) / SLOT
            for q, dq, tau in zip(rest, speed, true.gravity(rest) + beside, strict=True):
                estimator.update(q, dq, tau)
            poses += 1
        alarms += bool(estimator.events)
    return {"runs": runs, "seconds": 60.0, "poses": poses, "false_detections": alarms}


def ticks(arm: Arm, updates: int, random: np.random.Generator) -> dict[str, float]:
    """Feed random and faulty samples; measure ticks in processor time, and check that all stays finite and bounded."""
    n, dt = arm.robot.n, 1e-3
    estimator = PayloadEstimator(arm.robot, dt, friction_band=arm.band, max_mass=10.0)
    q, tau, speed, wrench = np.zeros(n), np.zeros(n), np.zeros(n), None
    took = np.empty(updates)
    for index in range(updates):
        if index % 800 == 0:
            q = random_poses(arm.robot, 1, random, 1.2)[0]
            size = 10.0 ** random.uniform(-2.0, 4.0)
            tau = arm.robot.gravity(q) + size * random.normal(size=n)
            wrench = arm.robot.base_wrench(q) + size * random.normal(size=6) if random.random() < 0.5 else None
        given, plate, flags = tau, wrench, SampleFlag.NONE
        if index % 997 == 0:
            given = tau.copy()
            given[random.integers(n)] = random.choice([np.nan, np.inf, -np.inf, 1e300])
        elif index % 1193 == 0:
            plate = np.full(6, random.choice([np.nan, np.inf, -1e300, 1e200]))
        elif index % 1499 == 0:
            flags = SampleFlag(int(random.integers(64)))
        begun = time.thread_time()
        estimator.update(q, speed, given, plate, flags)
        took[index] = time.thread_time() - begun
    found = estimator.estimate
    stated = [*found.covariance.ravel(), found.mass, found.mass_std] if found.detected else []  # else nothing is
    numbers = np.concatenate([found.parameters, stated])
    micro = 1e6 * took
    return {
        "updates": updates,
        "finite": float(np.isfinite(numbers).all()),
        "mass_bounded": float(not found.detected or 0.0 <= found.mass <= 10.0),
        "median_us": float(np.median(micro)),
        "slot_us": float(np.median(micro[19::20])),
        "p999_us": float(np.percentile(micro, 99.9)),
        "worst_us": float(micro.max()),
    }


FULL = (
    ("wam7", Load(1.0, (0.0, 0.0, 0.08), "toolplate", 20.0)),
    ("wam7", Load(2.0, (0.05, 0.0, 0.1), "link3", 20.0)),
    ("wam7:plate", Load(2.0, (0.05, 0.0, 0.1), "link3", 20.0)),
    ("puma550", Load(1.0, (0.0, 0.0, 0.1), "link6", 20.0)),
)
"""Cases that are simulated in full."""


def full_simulations(poses: int) -> list[dict[str, Any]]:
    """Attach loads to simulated arms during the run, and say what is found."""
    rows = []
    for name, load in FULL:
        base, _, variant = name.partition(":")
        found = track_simulated(preset(base, variant or None), load, poses=poses, seed=SEED).payload
        rows.append(
            {"arm": name, "link": load.link, "mass": load.mass, "found": found.text()}
            | {"estimate": found.mass if found.detected else None, "known": found.mass_known, "poses": found.poses}
        )
    return rows


HARDER = 0.95
"""A link has its own row where fewer than this share of draws are right."""
COLUMNS = (
    *("arm", "sensing", "load on", "draws", "found", "right link", "within one", "in the set"),
    *("mass error, median", "within 10 %", "within 3 %", "z rms"),
)


def table(results: dict[str, Any]) -> list[str]:
    """Return the docs' table of who was found where: all links together, and links that are harder than the others."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for arm, sensing in results["identification"].items():
        for way, groups in sensing.items():
            for group, s in groups.items():
                if not group.startswith("all") and s["within_10"] >= HARDER and s["right"] >= HARDER:
                    continue
                shares = [f"{s[name]:.0%}" for name in ("detected", "right", "near", "in_set")]
                errors = [f"{s['median_error']:.1%}", f"{s['within_10']:.0%}", f"{s['within_3']:.0%}"]
                cells = [arm, way, group, str(s["draws"]), *shares, *errors, f"{s['z_rms']:.2f}"]
                lines.append(f"| {' | '.join(cells)} |")
    return lines


PUSHES = (10.0, 30.0, 60.0)
"""Sizes of pushes on links [N]."""


def contacts(arm: Arm, draws: int, random: np.random.Generator) -> list[dict[str, Any]]:
    """Push resting arms on every link that can be felt, friction anywhere within its band; who is found?"""
    rows = []
    robot, places = arm.robot, arm.places
    for push in PUSHES:
        inside, right, seen, sizes, z, false = [], [], [], [], [], []
        for place in range(1, len(places.links)):
            if places.felt[place] == 0:
                continue
            link = places.links[place]
            for _ in range(draws):
                q = random_poses(robot, 1, random, 0.85)[0]
                force, point = random.normal(size=3), random.normal(size=3)
                force *= push / np.linalg.norm(force)
                point *= 0.6 * places.radius[place] * random.uniform() ** (1.0 / 3.0) / np.linalg.norm(point)
                turn = robot.forward_kinematics(q, at=link)[:3, :3]
                lever = turn @ places.com_in_link(place, places.centre[place] + point)
                hold = random.uniform(-1.0, 1.0, robot.n) * arm.band
                std = frozen(arm.band / np.sqrt(3.0))
                tau = robot.wrench_torque(q, np.concatenate([force, np.cross(lever, force)]), at=link)
                found = touched_link(places, q, ExternalTorque(frozen(tau + hold), std, True))
                nothing = touched_link(places, q, ExternalTorque(frozen(hold), std, True))
                false.append(nothing.probability > 0.9)
                seen.append(found.probability > 0.9)
                if found.probability > 0.9:
                    inside.append(link in found.link_set)
                    right.append(link == next(iter(found.links)))
                    sizes.append(len(found.link_set))
                tip = robot.wrench_torque(q, np.concatenate([force, np.zeros(3)]), at=places.links[-1])
                wrench = tip_wrench(robot, q, ExternalTorque(frozen(tip + hold), std, True), places.links[-1])
                z += ((wrench.wrench - np.concatenate([force, np.zeros(3)])) / wrench.std)[wrench.identifiable].tolist()
        mean = {"felt": seen, "in_set": inside, "right": right, "links_in_set": sizes, "false": false}
        rows.append(
            {"push": push, "draws": len(seen), "tip_z_rms": float(np.sqrt(np.mean(np.square(z))))}
            | {name: float(np.mean(values)) if values else float("nan") for name, values in mean.items()}
        )
    return rows


PARTS = ("friction", "identification", "empty", "contact", "ticks", "full")


def friction_part(simulated: int) -> dict[str, Any]:
    """Collect what friction leaves at rest."""
    found = {}
    for name in ARMS:
        arm = simulated_arm(name, simulated)
        rounded = {"residue": np.round(arm.residue, 4).tolist(), "side": arm.side.tolist()}
        found[name] = {"band": arm.band.tolist(), "scatter_share": (arm.scatter / arm.band).tolist()} | rounded
    return found


def empty_part(name: str, simulated: int, runs: int) -> list[dict[str, float]]:
    """Share the runs among arms of several seeds: each has its own torque constants, ripple and way of settling."""
    found = []
    for seed in EMPTY_SEEDS:
        arm = simulated_arm(name, simulated, seed)
        found.append(empty_runs(arm, runs // len(EMPTY_SEEDS), np.random.default_rng(seed)) | {"seed": seed})
    return found


def identification_part(friction: dict[str, Any], draws: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return who was found where, and how reliable the stated probabilities are."""
    random = np.random.default_rng(SEED)
    found: dict[str, Any] = {}
    reliable: dict[str, Any] = {}
    for name in ARMS:
        arm = arm_of(name, friction)
        found[name] = {}
        for way, plate in (("joints", False), ("joints + plate", True)):
            records = identification(arm, draws, plate, random)
            groups: dict[str, Any] = {}
            for mass in MASSES:
                for link in arm.places.links:
                    of = [r for r in records if r["mass"] == mass and r["link"] == link]
                    if of:
                        groups[f"{link}, {mass:g} kg"] = summary(of)
                felt = [r for r in records if r["mass"] == mass and (plate or r["felt"])]
                groups[f"{'all' if plate else 'all where the mass is felt'}, {mass:g} kg"] = summary(felt)
            found[name][way] = groups
            reliable[f"{name}, {way}"] = reliability(records)
    return found, reliable


def pooled(reliable: dict[str, Any]) -> list[dict[str, float]]:
    """Return the reliability of all cases together, with the binomial standard error of each share."""
    rows = []
    for low, high in pairwise(BINS):
        inside = [row for case in reliable.values() for row in case if low <= row["stated"] < high]
        count = sum(row["count"] for row in inside)
        if count:
            stated, found = (sum(row["count"] * row[name] for row in inside) / count for name in ("stated", "found"))
            error = float(np.sqrt(max(found * (1.0 - found), 0.25 / count) / count))
            rows.append({"stated": stated, "found": found, "error": error, "count": count})
    return rows


def main() -> None:
    """Run the chosen parts and write their results beside those of the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--empty-runs", type=int, default=300)
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--simulated", type=int, default=25, help="poses of the friction simulation")
    parser.add_argument("--full-poses", type=int, default=18, help="poses of each full simulation")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    chosen = parser.parse_args()
    results: dict[str, Any] = {}
    for part in chosen.parts:
        results |= {"friction": _read(chosen.out).get("friction", {})}
        if part == "friction":
            results["friction"] = friction_part(chosen.simulated)
        elif part == "identification":
            results["identification"], results["reliability"] = identification_part(results["friction"], chosen.draws)
        elif part == "empty":
            results["empty"] = {name: empty_part(name, chosen.simulated, chosen.empty_runs) for name in ARMS}
        elif part == "contact":
            random = np.random.default_rng(SEED)
            arms = {name: arm_of(name, results["friction"]) for name in ARMS}
            results["contact"] = {name: contacts(arm, chosen.draws, random) for name, arm in arms.items()}
        elif part == "ticks":
            arm = arm_of(ARMS[0], results["friction"])
            results["ticks"] = ticks(arm, chosen.updates, np.random.default_rng(SEED))
        else:
            results["full"] = full_simulations(chosen.full_poses)
        results = _written(chosen.out, results)
    if "identification" in results:
        print("\n".join(table(results)))
        if chosen.out == parser.get_default("out"):
            docs = Path(__file__).resolve().parents[1] / "docs"
            put(docs / "payload-and-contact.md", "identification", table(results))
            rows = pooled(results["reliability"])
            draw_reliability(rows, "stated probability of a link", docs / "figures" / "payload-reliability.png")
    for name in ("reliability", "empty", "contact", "ticks", "full"):
        print(name, json.dumps(results.get(name)))


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _written(path: Path, results: dict[str, Any]) -> dict[str, Any]:
    """Put results beside those that are in the file already, with seed and commit."""
    merged = _read(path) | results | {"seed": SEED, "commit": commit()}
    path.write_text(json.dumps(merged) + "\n", encoding="utf-8")
    return merged


if __name__ == "__main__":
    main()
