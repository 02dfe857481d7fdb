"""Run the plugins of a stage.

There is one stage so far at which plugins sit: the admission of a tool call, where gates judge. Every gate is heard, and the
strictest answer stands: refuse over ask over allow. A gate that fails refuses; no gate at all asks. A gate therefore can only
narrow what another one allows, whatever their order.
"""

import logging
from collections.abc import Sequence
from typing import Final

from lifecycle_core.contract.plugins import Gate, ToolAdmission, Verdict

log = logging.getLogger(__name__)

_SEVERITY: Final = {"allow": 0, "ask": 1, "refuse": 2}
_RISKS: Final = ("low", "medium", "high")


def judge(gates: Sequence[Gate], admission: ToolAdmission) -> Verdict:
    """Return the strictest verdict; the first gate wins among equals."""
    verdicts = [_heard(gate, admission) for gate in gates]
    default = Verdict(outcome="ask", rule="default: no gate", risk="high")
    return max(verdicts, key=lambda verdict: _SEVERITY[verdict.outcome], default=default)


def _heard(gate: Gate, admission: ToolAdmission) -> Verdict:
    try:
        return _understood(gate.judge(admission))
    except Exception:
        # Whatever a plugin raises, the call must not pass because of it.
        log.exception("gate %s failed", gate.name)
        return Verdict(outcome="refuse", rule=gate.name, reason="the gate failed")


def _understood(verdict: Verdict) -> Verdict:
    """Return a verdict that says something. Raises `TypeError` for anything else, such as nothing at all."""
    if not isinstance(verdict, Verdict) or verdict.outcome not in _SEVERITY or verdict.risk not in _RISKS:
        raise TypeError(f"{verdict!r} is no verdict")
    return verdict
