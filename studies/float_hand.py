"""A hand for studies: it leads a link of a simulated arm as people do, and shares no code with ``plants/hand.py``.

The hand is a spring and a damper from a point that it has in mind to the link, and damps the link's rotation. That
point moves in strokes drawn at random: reaches of 0.2 to 1 s with minimum jerk, quick small moves, slow even leads at
constant speed, and pauses, with the hand on the arm or off it. On top of it a tremor of 8 to 12 Hz, and a speed that
wanders by some per cent on leads. Grip and size of the strokes change from stroke to stroke.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterpoise.foundation import Array

KINDS = ("reach", "quick", "lead", "pause", "off")
SHARES = (0.40, 0.15, 0.20, 0.15, 0.10)
"""How often each kind of stroke comes."""
WANDER = 0.06
"""Standard deviation of the speed of a lead, as a share, over about a third of a second."""
TREMOR = 4e-4
"""Amplitude of the tremor [m]."""


@dataclass(frozen=True, slots=True)
class Grip:
    """Where the hand holds, and how stiff it is there.

    Attributes:
        link: The link, at its origin.
        reach: Longest stroke [m].
        stiffness: Of the hand [N/m].
        strongest: Largest force [N].
        turning: Damping of the link's rotation [N m s/rad].
    """

    link: str
    reach: float
    stiffness: float = 700.0
    strongest: float = 120.0
    turning: float = 0.5


class RandomHand:
    """Draws strokes and says what wrench the hand exerts.

    Attributes:
        strokes: How many strokes of each kind were begun.
    """

    def __init__(
        self,
        grips: tuple[Grip, ...],
        place: Callable[[str, Array], Array],
        home: Array,
        seed: int,
        speed: float = 0.5,
        leads: bool = True,
    ) -> None:
        """Begin with the hand off the arm.

        Args:
            grips: Grips to choose from.
            place: Returns where a link is at a pose, in the base frame, shape (4, 4).
            home: Pose about which the arm is led [rad or m], shape (n,).
            seed: Of the strokes.
            speed: Fastest mean speed of a stroke [m/s].
            leads: Whether slow even leads are among the strokes.
        """
        self._grips, self._place, self._speed = grips, place, speed
        self._home = {grip.link: place(grip.link, home)[:3, 3] for grip in grips}
        self._random = np.random.default_rng(seed)
        shares = np.array(
            [share if leads or kind != "lead" else 0.0 for kind, share in zip(KINDS, SHARES, strict=True)]
        )
        self._shares = shares / shares.sum()
        self._was: Array | None = None
        self._begin, self._end = 0.0, 0.0
        self._kind, self._grip = "off", grips[0]
        self._from = self._to = np.zeros(3)
        self._wander, self._done, self._last = 0.0, 0.0, 0.0
        self._fresh, self._tremor = True, 10.0
        self.strokes = dict.fromkeys(KINDS, 0)

    @property
    def stroke(self) -> str:
        """Kind of the present stroke."""
        return self._kind

    def wrench(self, time: float, q: Array) -> tuple[str, Array]:
        """Return the link that is held, and the wrench at its origin in base axes [N, N m], shape (6,).

        Args:
            time: Since the hand began [s].
            q: The arm's pose [rad or m], shape (n,).
        """
        if time >= self._end:
            self._next(time, q)
        T = self._place(self._grip.link, q)
        tip = T[:3, 3]
        step, self._last = time - self._last, time
        speed = spin = np.zeros(3)
        if self._was is not None and step > 0.0:
            speed = (tip - self._was[:3, 3]) / step
            turn = T[:3, :3] @ self._was[:3, :3].T
            spin = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (2.0 * step)
        self._was = T
        if self._kind == "off":
            return self._grip.link, np.zeros(6)
        grip = self._grip
        damping = 0.05 * grip.stiffness
        there, led = self._target(time, step)
        tremor = TREMOR * np.sin(2.0 * np.pi * self._tremor * time + np.array([0.0, 1.7, 3.1]))
        force = grip.stiffness * (there + tremor - tip) + damping * (led - speed)
        rise = min(1.0, (time - self._begin) / 0.1) if self._fresh else 1.0
        size = float(np.linalg.norm(force))
        force = force * min(1.0, grip.strongest / max(size, 1e-9))
        return grip.link, rise * np.concatenate([force, -grip.turning * spin])

    def _next(self, time: float, q: Array) -> None:
        random = self._random
        before = self._grip.link if self._kind != "off" else None
        self._kind = str(random.choice(KINDS, p=self._shares))
        self.strokes[self._kind] += 1
        if self._kind != "pause" and random.random() < 0.25:
            self._grip = self._grips[int(random.integers(len(self._grips)))]
        self._fresh = self._grip.link != before
        if self._fresh:
            self._was = None
        grip, here = self._grip, self._place(self._grip.link, q)[:3, 3]
        self._from = here if self._fresh else self._to
        away = random.normal(size=3)
        away /= np.linalg.norm(away)
        length = grip.reach * random.uniform(0.2, 1.0) * (0.3 if self._kind == "quick" else 1.0)
        goal = here + length * away
        out = goal - self._home[grip.link]
        most = 1.2 * grip.reach
        if np.linalg.norm(out) > most:  # people come back to where the arm moves well
            goal = self._home[grip.link] + out * most / np.linalg.norm(out)
        length = max(float(np.linalg.norm(goal - here)), 1e-3)
        lasts = {
            "reach": max(random.uniform(0.2, 1.0), length / self._speed),
            "quick": max(random.uniform(0.2, 0.35), length / self._speed),
            "lead": length / random.uniform(0.05, 0.3),
            "pause": random.uniform(0.3, 2.0),
            "off": random.uniform(0.5, 2.5),
        }[self._kind]
        self._to = goal if self._kind in ("reach", "quick", "lead") else here
        if self._kind in ("pause", "off"):
            self._from = here
        self._begin, self._end, self._done, self._wander = time, time + lasts, 0.0, 0.0
        self._tremor = random.uniform(8.0, 12.0)

    def _target(self, time: float, step: float) -> tuple[Array, Array]:
        lasts, way = self._end - self._begin, self._to - self._from
        s = min((time - self._begin) / lasts, 1.0)
        if self._kind in ("reach", "quick"):
            done = 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
            slope = 30.0 * s**2 * (1.0 - s) ** 2 / lasts
            return self._from + done * way, slope * way
        if self._kind == "lead":
            rise = min(0.25, 0.3 * lasts)
            even = 1.0 / (lasts - rise)  # trapezoid
            shape = min(1.0, (time - self._begin) / rise, (self._end - time) / rise)
            keep = np.exp(-step / 0.3)
            self._wander = keep * self._wander + WANDER * np.sqrt(1.0 - keep**2) * self._random.normal()
            slope = even * max(shape, 0.0) * (1.0 + self._wander)
            self._done = min(self._done + slope * step, 1.0)
            return self._from + self._done * way, slope * way
        return self._to, np.zeros(3)
