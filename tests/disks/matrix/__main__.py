"""Runs combinations and keeps what came of them: ``python -m tests.disks.matrix --help``."""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.disks.matrix import trial
from tests.disks.matrix.helper import be_first_namespace
from tests.disks.matrix.images import Images
from tests.disks.matrix.kinds import kinds, missing
from tests.disks.matrix.moments import ALIVE, Moment, moments
from tests.disks.matrix.stage import Kind
from tests.disks.matrix.trial import BTRFS, LAYOUTS, MIRROR, Layout, Outcome

PROJECT: Final = Path(__file__).parents[3]
_DEATHS: Final = 4
"""How often at least a helper dies with each further layout in the short form."""
_WHOLE: Final = 2
"""Layouts on which each moment comes in the short form."""


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


def combinations(images: Images) -> list[Combination]:
    """Return all of them."""
    known = kinds()
    return [
        Combination(layout, kind, moment)
        for layout in LAYOUTS
        for moment in moments(trial.count(layout, images))
        for kind in known
    ]


def mixed(found: list[Combination]) -> list[Combination]:
    """Return them in an order in which any first part is a sample of all; the same every time."""
    return sorted(found, key=lambda each: each.digest)


def covering(found: list[Combination]) -> list[Combination]:
    """Return some of them, the same every time: on the first layout each kind and each moment at least once.

    There each kind that is no format comes at one of the moments with everything made, too. On those of two
    disks each moment comes once. Of the others, and of groups beside the data's, which are made and unmade by
    the same steps: each moment with everything made and some deaths, with other kinds for each.
    """
    titles = list(dict.fromkeys(each.kind.title for each in found))
    layouts = list(dict.fromkeys(each.layout.title for each in found))
    wanted = set()
    for shift, layout in enumerate(layouts[:_WHOLE]):
        times = list(dict.fromkeys(each.moment.title for each in found if each.layout.title == layout))
        for number in range(len(times) if shift else max(len(titles), len(times))):
            kind = titles[(number + shift * len(titles) // 2) % len(titles)]
            wanted.add((layout, kind, times[number % len(times)]))
    others = dict.fromkeys(each.kind.title for each in found if each.kind.group != "formats")
    for number, kind in enumerate(others):
        wanted.add((layouts[0], kind, ALIVE[number % len(ALIVE)].title))
    for shift, layout in enumerate(layouts[_WHOLE:]):
        times = list(dict.fromkeys(each.moment.title for each in found if each.layout.title == layout))
        deaths = [each for each in times if each not in {moment.title for moment in ALIVE}]
        some = [*(each.title for each in ALIVE), *deaths[shift :: max(1, len(deaths) // _DEATHS)]]
        for number, when in enumerate(some):
            wanted.add((layout, list(others)[(number + shift * len(some)) % len(others)], when))
    by_mirror = {when for layout, _, when in wanted if layout == MIRROR.title}
    wanted = {each for each in wanted if each[0] != BTRFS.title or each[2] not in by_mirror}
    return [each for each in found if (each.layout.title, each.kind.title, each.moment.title) in wanted]


def beside_daemons(chosen: list[Combination]) -> list[Combination]:
    """Return those of the covering part that are played beside udevd: each kind that is no format, once."""
    found = {
        each.kind: each
        for each in chosen
        if each.layout is LAYOUTS[0] and each.kind.group != "formats" and each.moment in ALIVE
    }
    return list(found.values())


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
    """Return how many combinations ran, and the red ones by name."""
    ran = {each: outcome for each, outcome in played.items() if outcome.applies}
    red = {each: outcome for each, outcome in ran.items() if outcome.faults}
    groups = Counter(each.kind.group for each in ran)
    times = Counter(each.moment.group for each in ran)
    lines = [f"RED  {each.name}\n     {'; '.join(outcome.faults)}" for each, outcome in red.items()]
    lines.append(
        f"{len(ran)} combinations ran ({len({each.kind.title for each in ran})} kinds, "
        f"{len({each.moment.title for each in ran})} moments, {len({each.layout for each in ran})} layouts), "
        f"{len(ran) - len(red)} green, {len(red)} red; {len(played) - len(ran)} cannot happen; "
        f"{asked - len(played)} not played yet"
    )
    lines.append("kinds: " + ", ".join(f"{count} {name}" for name, count in groups.items()))
    lines.append("moments: " + ", ".join(f"{count} {name}" for name, count in times.items()))
    if missing():
        lines.append(f"cannot be made here: {', '.join(missing())}")
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
        chosen = combinations(images)
        chosen = covering(chosen) if options.covering else mixed(chosen)
        chosen = [each for each in chosen if all(word in each.name for word in options.name)]
        number, parts = map(int, options.share.split("/"))
        chosen = chosen[number - 1 :: parts]
        beside = chosen if options.daemons else beside_daemons(chosen) if options.covering else []
        alone = [each for each in chosen if each not in beside]
        played = {}
        deadline_s = time.monotonic() + options.limit
        for part in (alone, beside):
            if part and part is beside:
                start_daemons()
            limit_s = deadline_s - time.monotonic()
            for each, outcome in play_all(part, images, results, limit_s, always_later=options.covering):
                played[each] = outcome
                if not options.quiet and outcome.applies:
                    word = "RED" if outcome.faults else "clean" if outcome.cleaned else "kept"
                    sys.stdout.write(f"{outcome.seconds:6.2f} s {word:5} {each.name}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{summary(played, len(chosen))}\n")
    red = sum(bool(outcome.faults) for outcome in played.values())
    if options.tally:
        green = sum(outcome.applies and not outcome.faults for outcome in played.values())
        options.tally.write_text(f"{green} {red}\n")
    if red:
        return 1
    return 3 if len(played) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
