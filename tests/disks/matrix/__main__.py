"""Runs combinations and keeps what came of them: ``python -m tests.disks.matrix --help``."""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.disks.matrix import trial
from tests.disks.matrix.helper import be_first_namespace
from tests.disks.matrix.images import Images
from tests.disks.matrix.kinds import kinds, missing
from tests.disks.matrix.moments import ALIVE, Moment, moments
from tests.disks.matrix.stage import NO_NEED, Given, Kind
from tests.disks.matrix.trial import BTRFS, LAYOUTS, MIRROR, Layout, Outcome

PROJECT: Final = Path(__file__).parents[3]
_LONGEST: Final = 400
"""Characters of a red one in the tally."""
_OF_TWO: Final = {BTRFS: (3, 4), MIRROR: (2, 4)}
"""Where the deaths of the short form begin on a layout of two disks, and how far they are from each other."""
_DEATHS: Final = 2
"""How many of a layout's deaths at least come in the short form, where not each moment does."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A kind at a moment, on a layout."""

    layout: Layout
    kind: Kind
    moment: Moment

    @property
    def name(self) -> str:
        """What results call it."""
        return f"{self.layout.title} | {self.kind.title} | {self.moment.title}"

    @property
    def digest(self) -> bytes:
        """Of its name: what decides by it decides the same every time, and sees no order in names."""
        return hashlib.sha256(self.name.encode()).digest()

    @property
    def also_later(self) -> bool:
        """Whether what is foreign goes afterwards: of every four one, for it takes as long as all the rest.

        What comes of that depends on the kind and on how far the session had come, hardly on the moment.
        """
        return self.digest[0] % 4 == 0

    @property
    def can_happen(self) -> bool:
        """Whether there is what the kind needs."""
        neighbour = Given.NEIGHBOUR if self.layout.disks > 1 else NO_NEED
        return self.kind.needs in self.moment.given | neighbour


def combinations(times: Mapping[Layout, Sequence[Moment]]) -> list[Combination]:
    """Return the whole: every kind at every moment on the first layout, each of both once on the others.

    What root answers depends on the kind and on how far the session had come; on the layout depends which
    steps a session has, hardly what comes of a kind between two of them.
    """
    first, *others = times
    everything = [Combination(first, kind, moment) for moment in times[first] for kind in kinds()]
    found = [each for each in everything if each.can_happen]
    waiting = deque(kinds())
    for layout in others:
        found += paired(layout, times[layout], waiting, kinds())
    return found


def paired(
    layout: Layout, times: Sequence[Moment], waiting: deque[Kind], also: Sequence[Kind] = ()
) -> list[Combination]:
    """Return each moment with the kind that waits longest of those that can happen then, and kinds left over.

    Args:
        layout: of all of them.
        times: moments; those at which little can happen choose first.
        waiting: kinds, the longest waiting first; changed.
        also: each of these comes at least once, if it can happen on this layout at all.
    """
    found = []
    for moment in sorted(times, key=lambda each: each.given.value.bit_count()):
        for kind in tuple(waiting):
            if (each := Combination(layout, kind, moment)).can_happen:
                found.append(each)
                waiting.remove(kind)
                waiting.append(kind)
                break
    come = {each.kind for each in found}
    for number, kind in enumerate(kind for kind in also if kind not in come):
        turn = number % len(times)
        turned = [Combination(layout, kind, moment) for moment in (*times[turn:], *times[:turn])]
        found += [each for each in turned if each.can_happen][:1]
    return found


def mixed(found: list[Combination]) -> list[Combination]:
    """Return them in an order in which any first part is a sample of all; the same every time."""
    return sorted(found, key=lambda each: each.digest)


def covering(times: Mapping[Layout, Sequence[Moment]]) -> list[Combination]:
    """Return a part that minutes suffice for: each kind, and on the first layout each moment.

    Of two disks, a helper dies before every second write of its journal on a stripe, and after the others on
    a mirror; of the further layouts some deaths come. Disks that fail are slow: each way to fail comes once.
    """
    first, *others = times
    waiting = deque(each for each in kinds() if each.group != "failing")
    formats = [each for each in kinds() if each.group == "formats"]
    found = beside_daemons(first)
    found += paired(first, [each for each in times[first] if each not in ALIVE], waiting, formats)
    for number, layout in enumerate(others):
        deaths = [each for each in times[layout] if each not in ALIVE]
        start, step = _OF_TWO.get(layout, (number, len(deaths) // _DEATHS))
        found += paired(layout, [*ALIVE[number % 2 :: 2], *deaths[start::step]], waiting)
    return found


def beside_daemons(layout: Layout) -> list[Combination]:
    """Return what is played beside udevd: each kind that is no format, once, with everything made."""
    others = [each for each in kinds() if each.group != "formats"]
    return paired(layout, ALIVE, deque(others), others)


def start_daemons() -> None:
    """Have udevd and udisksd see what happens from now on; they end with the namespaces of these tests."""
    subprocess.run([PROJECT / "tests/system/start-daemons"], check=True)


def tree_key() -> str:
    """Return a digest of the code that decides, and of that which judges it."""
    total = hashlib.sha256()
    for folder in ("app", "tests/disks/matrix"):
        for path in sorted((PROJECT / folder).rglob("*.*")):
            if path.suffix in {".py", ".xml"}:
                total.update(f"{path.relative_to(PROJECT)}\0".encode() + path.read_bytes())
    return total.hexdigest()[:16]


@dataclass(slots=True)
class Results:
    """What came of combinations, kept in a file, one a line."""

    file: Path

    def known(self) -> dict[str, Outcome]:
        """Return what is known already."""
        found = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                name, faults, applies, seconds, said, cleaned = json.loads(line)
                found[name] = Outcome(tuple(faults), applies, seconds, said, cleaned)
        return found

    def add(self, name: str, outcome: Outcome) -> None:
        """Keep one."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        values = (name, outcome.faults, outcome.applies, outcome.seconds, outcome.said, outcome.cleaned)
        with self.file.open("a") as file:
            file.write(json.dumps(values) + "\n")


def play_all(
    chosen: list[Combination],
    images: Images,
    results: Results,
    limit_s: float = float("inf"),
    *,
    always_later: bool = False,
) -> Iterator[tuple[Combination, Outcome]]:
    """Play combinations that are not known yet, until time is over; yield all that are known then."""
    known, started_s = results.known(), time.monotonic()
    for each in chosen:
        if each.name not in known:
            if time.monotonic() - started_s > limit_s:
                continue
            also_later = always_later or each.also_later
            known[each.name] = trial.play(each.layout, each.kind, each.moment, images, also_later=also_later)
            results.add(each.name, known[each.name])
        yield each, known[each.name]


def summary(played: dict[Combination, Outcome], asked: int) -> str:
    """Return how many combinations ran, and at the end the red ones by name."""
    ran = {each: outcome for each, outcome in played.items() if outcome.applies}
    red = {each: outcome for each, outcome in ran.items() if outcome.faults}
    groups = Counter(each.kind.group for each in ran)
    times = Counter(each.moment.group for each in ran)
    lines = [
        (
            f"{len(ran)} combinations ran ({len({each.kind.title for each in ran})} kinds, "
            f"{len({each.moment.title for each in ran})} moments, "
            f"{len({each.layout for each in ran})} layouts), "
            f"{len(ran) - len(red)} green, {len(red)} red; {len(played) - len(ran)} cannot happen; "
            f"{asked - len(played)} not played yet"
        ),
        "kinds: " + ", ".join(f"{count} {name}" for name, count in groups.items()),
        "moments: " + ", ".join(f"{count} {name}" for name, count in times.items()),
    ]
    if missing():
        lines.append(f"cannot be made here: {', '.join(missing())}")
    lines += [f"RED  {each.name}\n     {'; '.join(outcome.faults)}" for each, outcome in red.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Play what is asked for; return 0 where all of it was played and is green, 3 where some is left."""
    parser = argparse.ArgumentParser(prog="python -m tests.disks.matrix", description=__doc__)
    parser.add_argument("--results", type=Path, help="folder of results; played ones are not played again")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which it stops")
    parser.add_argument("--name", action="append", default=[], help="only those whose name has this in it")
    parser.add_argument("--covering", action="store_true", help="only some of each, in part beside udevd")
    parser.add_argument("--share", default="1/1", help="N/M: the Nth of M parts, beside which others may run")
    parser.add_argument("--tally", type=Path, help="file for the numbers of green and red ones")
    parser.add_argument("--daemons", action="store_true", help="all beside udevd and udisksd")
    parser.add_argument("--again", action="store_true", help="play red ones again")
    parser.add_argument("--quiet", action="store_true", help="no line for each")
    options = parser.parse_args(arguments)
    be_first_namespace()
    with tempfile.TemporaryDirectory(prefix="pgfooting-matrix-", dir="/dev/shm") as folder:
        images = Images(Path(folder))
        name = f"matrix-{tree_key()}{'-daemons' * options.daemons}.jsonl"
        results = Results((options.results or Path(folder)) / name)
        if options.again and results.file.exists():
            lines = [line for line in results.file.read_text().splitlines() if not json.loads(line)[1]]
            results.file.write_text("".join(f"{line}\n" for line in lines))
        times = {layout: moments(trial.count(layout, images)) for layout in LAYOUTS}
        chosen = covering(times) if options.covering else mixed(combinations(times))
        chosen = [each for each in chosen if all(word in each.name for word in options.name)]
        number, parts = map(int, options.share.split("/"))
        chosen = chosen[number - 1 :: parts]
        beside = chosen if options.daemons else beside_daemons(LAYOUTS[0]) if options.covering else []
        beside = [each for each in chosen if each in beside]
        alone = [each for each in chosen if each not in beside]
        played = {}
        deadline_s = time.monotonic() + options.limit
        for part in (alone, beside):
            if part and part is beside:
                start_daemons()
            limit_s = deadline_s - time.monotonic()
            later = options.covering and part is beside
            for each, outcome in play_all(part, images, results, limit_s, always_later=later):
                played[each] = outcome
                if not options.quiet and outcome.applies:
                    word = "RED" if outcome.faults else "clean" if outcome.cleaned else "kept"
                    sys.stdout.write(f"{outcome.seconds:6.2f} s {word:5} {each.name}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{summary(played, len(chosen))}\n")
    red = [f"{each.name}: {'; '.join(outcome.faults)}" for each, outcome in played.items() if outcome.faults]
    if options.tally:
        green = sum(outcome.applies and not outcome.faults for outcome in played.values())
        lines = [f"{green} {len(red)}", *(" ".join(each.split())[:_LONGEST] for each in red)]
        options.tally.write_text("".join(f"{line}\n" for line in lines))
    if red:
        return 1
    return 3 if len(played) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
