"""The health of a plugin, judged by what a soak has measured.

Source: our choice, by what healthy plugins use: docs/evidence/official-plugins.md, H2.
"""

import itertools
import statistics
from collections.abc import Iterator, Mapping

from dify_plugin_packager.rules import Finding
from stream_text import redact_text

from .soak import SoakResult, SoakSettings


# Of one core while nothing is called; healthy plugins use up to 0.1.
_IDLE_CPU_PERCENT = 2.0
# What each 100 calls may add once a plugin is warm, by figure, and what it is called. Of memory most plugins add up to 3; two add 28
# and more for a thousand calls. Of the others it is one call in ten that leaves one behind.
_LIMITS: Mapping[str, tuple[str, float]] = {
    "memory_mb": ("MB of memory", 10.0),
    "threads": ("threads", 10.0),
    "handles": ("open files, sockets and pipes", 10.0),
}
_JUDGED_SHARE = 0.25  # of the calls: with fewer after the warm-up, growth is not judged
_SHOWN = 3


def find_problems(result: SoakResult, settings: SoakSettings) -> Iterator[Finding]:
    """Iterate over the findings about a plugin's health."""
    if result.failure:
        yield Finding("broken", redact_text(f"after {result.made} calls: {result.failure}"))
    if result.is_hung:
        problem = "it no longer answers the calls that it answered before"
        yield Finding("broken", f"after {result.made} calls: {problem}")
    for name, problem in result.rejected.items():
        yield Finding("broken", redact_text(f"{name}: {problem}"))
    if lines := result.strange_lines:
        yield Finding("advice", redact_text(f"{lines[0]} (and {len(lines) - 1} others)"))
    if left := result.left:
        shown = redact_text("; ".join(left[:_SHOWN]))
        expected = "expected everything that it has started to end when it is killed"
        yield Finding("advice", f"{expected}, found {len(left)} that live on: {shown}")
    measured = figures(result, settings)
    if (used := measured.get("idle_cpu_percent", 0)) > _IDLE_CPU_PERCENT:
        expected = f"expected at most {_IDLE_CPU_PERCENT:g} % of a core while nothing is called"
        yield Finding("advice", f"{expected}, got {used:.1f} %")
    for name, (what, limit) in _LIMITS.items():
        if (grown := measured.get(f"{name}_per_100_calls", 0)) > limit:
            change = f"{measured[f'{name}_before']:g} before the calls, {measured[f'{name}_after']:g} after them"
            expected = f"expected at most {limit:g} {what} more after each 100 calls"
            yield Finding("advice", f"{expected}, got {grown:.1f}; {change}")


def figures(result: SoakResult, settings: SoakSettings) -> dict[str, float]:
    """Return the figures of a soak, as far as it came, each by a name that says its unit; growth only if there were calls enough."""
    found: dict[str, float] = {"start_seconds": result.start_seconds, "calls": result.made}
    found |= {"error_answers": result.error_answers, "slow_calls": len(result.slow)}
    found |= {"processes_left": len(result.left)}
    if seconds := sorted(result.call_seconds):
        found["call_seconds_median"] = statistics.median(seconds)
        found["call_seconds_p95"] = seconds[int(len(seconds) * 0.95)]
    if result.before:
        found["idle_cpu_percent"] = 100 * result.idle_cpu
        found |= {f"{name}_before": getattr(result.before, name) for name in _LIMITS}
    if result.quarters:
        _, last = result.quarters[-1]
        found |= {f"{name}_after": getattr(last, name) for name in _LIMITS}
    if _judges_growth(result, settings):
        found |= {f"{name}_per_100_calls": _growth(result, name) for name in _LIMITS}
    return {name: round(value, 3) for name, value in found.items()}


def describe(result: SoakResult, settings: SoakSettings) -> str:
    """Return the main figures, with what says how far they can be trusted, for people."""
    measured = figures(result, settings)
    parts = [f"first heartbeat after {result.start_seconds:.1f} s"]
    if result.before:
        parts.append(f"idle CPU {measured['idle_cpu_percent']:.2f} %")
    if result.quarters:
        usage = (
            f"{measured[f'{name}_before']:.0f} to {measured[f'{name}_after']:.0f} {unit}"
            for name, unit in (("threads", "threads"), ("memory_mb", "MB"), ("handles", "handles"))
        )
        parts.append(", ".join(usage))
    parts.append(
        f"{result.made} of {settings.calls} calls, {result.error_answers} answered with an error"
    )
    if result.call_seconds:
        parts.append(f"median {measured['call_seconds_median']:.3f} s")
    if result.slow:
        names = ", ".join(dict.fromkeys(result.slow))
        parts.append(f"without an answer within {settings.call_seconds:.2g} s: {names}")
    if not _judges_growth(result, settings):
        parts.append("too few calls to judge growth")
    return "; ".join(parts)


def _judges_growth(result: SoakResult, settings: SoakSettings) -> bool:
    calls = result.quarters[-1][0] - result.quarters[0][0] if result.quarters else 0
    return calls >= settings.calls * _JUDGED_SHARE


def _growth(result: SoakResult, name: str) -> float:
    """Return how much 100 calls add after the warm-up, in the quarter in which least was added: a cache or a pool fills once, a leak goes on."""
    return min(
        100 * (getattr(after, name) - getattr(before, name)) / (so_far - calls)
        for (calls, before), (so_far, after) in itertools.pairwise(result.quarters)
        if so_far > calls
    )
