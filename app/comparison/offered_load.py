"""Decide what may be said of runs at a target rate: not how fast, but whether they kept up.

At a rate the server does not decide how many transactions start: TPS equal the rate if it keeps up, and its
capacity if it does not, unless a latency limit skipped transactions. So speed is compared only if both are
closed loops (each client sends the next transaction after the answer to the last), or if neither kept up with
the same rate without a limit. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.analysis.labels import at_least, format_number, format_tps, one_line
from app.domain.text import number_text, tr
from app.runfile.metadata.offered_load import Figures, LoadKind, OfferedLoad, done_of, run_kept_rate
from app.runfile.summary import is_lower_bound
from app.statistics.verdict import RunInterval

AGAIN_SHARE: Final = 0.7
"""Share of the slowest configuration's TPS at which latencies are compared: all keep it, with headroom."""


@dataclass(frozen=True, slots=True)
class KeptRate:
    """The outcome of the load offered to a configuration.

    Attributes:
        load: the offered load.
        kept: whether all runs kept up with the rate; None without a rate, or if unknown.
        skipped: share of the offered transactions that the latency limit skipped; None without a limit.
        late: share completed later than the limit; None without a limit.
    """

    load: OfferedLoad = field(default_factory=OfferedLoad)
    kept: bool | None = None
    skipped: float | None = None
    late: float | None = None

    @property
    def at_a_rate(self) -> bool:
        """Whether load was offered at a rate."""
        return self.load.kind is LoadKind.RATE

    @property
    def is_limited(self) -> bool:
        """Whether a latency limit skipped transactions, or may have: TPS are then not a capacity."""
        return self.load.limit_ms is not None or bool(self.skipped)


def common_load(loads: Iterable[OfferedLoad]) -> OfferedLoad:
    """Return the load offered in the runs of a configuration.

    If they differ it counts as an unknown rate, so speed is not compared. A rate given as a share differs
    between runs but is the same share in all.
    """
    found = {each if each.share is None else replace(each, rate_tps=None) for each in loads}
    if len(found) == 1:
        return found.pop()
    return OfferedLoad(LoadKind.RATE) if any(each.kind is LoadKind.RATE for each in found) else OfferedLoad()


def kept_rate(
    load: OfferedLoad, runs: Sequence[Figures], loads: Sequence[OfferedLoad] | None = None
) -> KeptRate:
    """Return the outcome of the offered load.

    Args:
        load: the offered load.
        runs: figures of each complete run.
        loads: of each of these runs, if its rate was a share of that run's own TPS; None if `load` is that of
            all.
    """
    if load.kind is not LoadKind.RATE or not runs:
        return KeptRate(load)
    each = [run_kept_rate(own, run) for own, run in zip(loads or [load] * len(runs), runs, strict=True)]
    kept = False if False in each else None if None in each else True
    offered = math.fsum(done_of(run) + (run.get("skipped") or 0.0) for run in runs)

    def share(name: str) -> float | None:
        known = [value for run in runs if (value := run.get(name)) is not None]
        return math.fsum(known) / offered if len(known) == len(runs) and offered > 0 else None

    return KeptRate(load, kept, share("skipped"), share("late"))


def speed_comparable(first: KeptRate, other: KeptRate) -> bool:
    """Return whether TPS of two configurations show which one is faster."""
    if not first.at_a_rate and not other.at_a_rate:
        return True
    if first.is_limited or other.is_limited:
        return False
    return first.load == other.load and first.load.rate_tps is not None and first.kept is other.kept is False


def describe_rate(name: str, found: KeptRate, mean: RunInterval, runs: Sequence[Figures]) -> str:
    """Return the outcome of a rate, a sentence without a full stop; empty without a rate.

    Args:
        name: of the configuration.
        found: outcome of its rate.
        mean: its TPS.
        runs: figures of its complete runs.
    """
    if not found.at_a_rate or mean.mean is None:
        return ""
    names = {
        "name": name,
        "rate": _rate_words(found.load) or tr("not known"),
        "tps": _capacity_words(mean),
    }
    if found.kept:
        sentence = tr("{name} kept up with its target rate ({rate})")
    elif found.kept is None:
        sentence = tr("{name} reached {tps}; whether it kept up with its target rate ({rate}) is not known")
    elif found.is_limited:
        sentence = tr("{name} did not keep up with its target rate ({rate}): it reached {tps}")
    else:
        sentence = tr("{name} did not keep up with its target rate ({rate}): its capacity is {tps}")
    return "; ".join((sentence.format(**names), *_shares(found, runs)))


def _rate_words(load: OfferedLoad) -> str:
    """Return the rate, the share that defined it, or both; empty if neither is known."""
    share = _share_words(load)
    if load.rate_tps is None:
        return share
    sentence = tr("{rate} per second").format(rate=format_number(load.rate_tps))
    return f"{sentence}, {share}" if share else sentence


def _share_words(load: OfferedLoad) -> str:
    """Return the base of a rate given as a share; empty for other rates."""
    if load.share is None:
        return ""
    words = tr("{percent:g} % of what each run reached in “{phase}”")
    return words.format(percent=load.share.percent, phase=one_line(load.share.of))


def _capacity_words(mean: RunInterval) -> str:
    sentence = f"{format_tps(mean.mean)} TPS"
    if mean.low is None or mean.high is None:
        return sentence
    return tr("{tps} (95 % CI {low} to {high})").format(
        tps=sentence, low=format_tps(mean.low), high=format_tps(mean.high)
    )


def _shares(found: KeptRate, runs: Sequence[Figures]) -> Iterable[str]:
    if found.skipped is not None:
        yield tr("{share} % skipped").format(share=_percent(found.skipped))
    if found.late is not None and found.load.limit_ms is not None:
        sentence = tr("{share} % later than {limit} ms")
        yield sentence.format(share=_percent(found.late), limit=format_number(found.load.limit_ms))
    known = [value for run in runs if (value := run.get("latency_p99_ms")) is not None and value > 0]
    if known and len(known) == len(runs):
        mean_ms = math.exp(math.fsum(map(math.log, known)) / len(known))
        is_bound = any(is_lower_bound(run, "latency_p99_ms") for run in runs)
        p99 = at_least(format_number(mean_ms), is_bound=is_bound)
        yield tr("p99 {p99} ms over all offered transactions").format(p99=p99)


def _percent(share: float) -> str:
    """Return a share in percent with a decimal, never 0.0 for a positive share."""
    percent = 100 * share
    return number_text(percent, ".1f") if percent >= 0.05 or not percent else number_text(percent, ".2g")


def describe_loads(first_name: str, first: KeptRate, other_name: str, other: KeptRate) -> str:
    """Return why speed is not compared, a clause; empty if the same load was offered to both."""
    if first.load == other.load and (first.load.rate_tps is not None or not first.at_a_rate):
        if first.kept is other.kept is False and (first.is_limited or other.is_limited):
            return tr(
                "throughput is not compared: with a latency limit, the transactions done in time do not "
                "show the capacity"
            )
        return ""
    sentence = tr("throughput is not compared, because the target rates differ ({first}; {other})")
    if first.load == other.load:
        if first.load.share is not None:
            return tr(
                "throughput is not compared: each target rate is a share of that configuration's own TPS"
            )
        return tr("throughput is not compared: the target rates are not known")
    return sentence.format(
        first=f"{first_name} {_load_words(first.load)}", other=f"{other_name} {_load_words(other.load)}"
    )


def _load_words(load: OfferedLoad) -> str:
    if load.kind is LoadKind.CLOSED:
        return tr("without a target rate")
    if load.kind is LoadKind.NOT_KNOWN:
        return tr("not known")
    sentence = tr("at an unknown rate")
    if share := _share_words(load):
        sentence = tr("at {share}").format(share=share)
    elif load.rate_tps is not None:
        sentence = tr("at {rate} per second").format(rate=format_number(load.rate_tps))
    if load.limit_ms is None:
        return sentence
    return tr("{rate}, limit {limit} ms").format(rate=sentence, limit=format_number(load.limit_ms))


def rate_cell(found: KeptRate) -> str:
    """Return for a table whether a rate was kept; empty without a rate."""
    if not found.at_a_rate:
        return ""
    return {True: tr("kept"), False: tr("NOT KEPT"), None: tr("not known")}[found.kept]


def shares_cell(found: KeptRate) -> str:
    """Return late and skipped shares for a table; empty if there are none."""
    if found.late is None and found.skipped is None:
        return ""
    return ", ".join(
        tr("not known") if share is None else f"{_percent(share)} %" for share in (found.late, found.skipped)
    )
