"""Be one session of the harness: the thread of the turn serves what the harness asks for, one request after the other.

Every answer of a model is whole, strict and noted before the harness sees any of it; and the harness has every call in its
own log before it asks for the first of them. So whatever dies where, the journal and the native session tell the same story.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_failures
from lifecycle_core.providers.dsh import batch, mcp, prompts, storage
from lifecycle_core.providers.dsh.bridge import Bridge
from lifecycle_core.providers.dsh.exchange import Broken, Ended, Gone, Item, ModelAsked, ToolAsked
from lifecycle_core.providers.dsh.harness import Harness
from lifecycle_core.providers.dsh.upstream import Heard, Upstream

DETAIL_CHARACTERS: Final = 1000
CANCELLED: Final = ports.ModelCallFailed("ABORTED", "the call was cancelled")

type Fault = ports.ProviderFailed | ports.ProcessExited | ports.ProviderUncertain


class ProtocolBroken(Exception):
    """The harness did what it must not do."""


class ProcessGone(Exception):
    """The harness ended by itself."""


class DshSession:
    """Run turns of one native session; it is over after one of them, and the next one restores it."""

    def __init__(
        self,
        identity: str,
        *,
        home: Path,
        harness: Harness,
        bridge: Bridge,
        upstream: Upstream,
        tools: frozenset[str],
        grace_ms: int,
    ) -> None:
        self._identity = identity
        self._home = home
        self._harness = harness
        self._bridge = bridge
        self._upstream = upstream
        self._tools = tools
        self._grace_ms = grace_ms
        self._batch = batch.Batch()
        self._before = storage.Held()
        self._answers = 0
        self._cancelled = False

    @property
    def opaque_identity(self) -> str:
        return self._identity

    def run(self, turn: ports.TurnInput, carrier: ports.Carrier, material: Mapping[str, str]) -> None:
        """Run one native turn to its end."""
        try:
            self._begin(turn)
            self._serve(carrier, material.get("secret", ""))
        except ports.ModelCallFailed as failure:
            self._report(carrier, chat_failures.native(failure))
        except ProtocolBroken as broken:
            self._report(carrier, ports.ProviderFailed(code="PROVIDER_PROTOCOL_ERROR", detail=str(broken)))
        except ProcessGone as gone:
            self._report(carrier, ports.ProcessExited(detail=str(gone)))
        except storage.LogDamaged as damaged:
            self._report(carrier, ports.ProviderUncertain(phase="startup", detail=str(damaged)))
        else:
            carrier.emit(ports.TurnEnded())
        finally:
            self._leave(carrier)

    def cancel(self) -> None:
        """Kill the harness and free `run`, at once."""
        self._cancelled = True
        self._upstream.interrupt()
        self._harness.kill()
        self._bridge.inbox.put(Gone("cancelled"))

    def dispose(self) -> None:
        """Leave nothing behind but the session log; idempotent."""
        self._upstream.interrupt()
        self._harness.kill()
        self._harness.close()
        self._bridge.close()

    def _report(self, carrier: ports.Carrier, fault: Fault) -> None:
        """Emit what went wrong, without the token of the bridge: the harness may have it in whatever it says."""
        detail = fault.detail.replace(self._bridge.token, "[REDACTED]")
        carrier.emit(replace(fault, detail=detail[:DETAIL_CHARACTERS]))

    def _begin(self, turn: ports.TurnInput) -> None:
        self._before = self._held()
        results = () if isinstance(turn, ports.Begin) else turn.results
        missing = [result.call_id for result in results if result.call_id not in self._before.calls]
        if missing:
            raise storage.LogDamaged(f"the native session does not hold the call {missing[0]}")
        self._harness.begin(self._identity, prompts.text(turn, self._before.calls), self._bridge.inbox)

    def _held(self) -> storage.Held:
        try:
            return storage.held(storage.log(self._home, self._identity))
        except LookupError:
            return storage.Held()

    def _serve(self, carrier: ports.Carrier, secret: str) -> None:
        """Do what the harness asks for, until its turn is over."""
        while True:
            item = self._bridge.inbox.get()
            if self._cancelled:
                raise CANCELLED
            match item:
                case ModelAsked():
                    self._ask_model(item, carrier, secret)
                case ToolAsked():
                    self._act(item, carrier)
                case Broken() | Gone():
                    _check_end(item)
                case Ended():
                    self._end(item, carrier)
                    return

    def _ask_model(self, asked: ModelAsked, carrier: ports.Carrier, secret: str) -> None:
        """Let the harness have an answer once it is whole and noted."""
        self._finish_batch(carrier)
        attempts: list[Heard] = []

        def perform(emit: Callable[[str], None]) -> ports.ModelAnswer:
            attempts.append(self._upstream.ask(asked.body, secret, emit))
            return batch.ours(attempts[-1].answer, self._tools)

        answer = carrier.call_model(perform)
        heard = attempts[-1]
        arguments = [call.arguments for call in heard.answer.calls]
        if carrier.holds_secret([heard.wire.decode("utf-8", "replace"), heard.said, *arguments]):
            raise ProtocolBroken(
                "the model's answer holds the agent's secret, which must not get into the session"
            )
        self._batch = batch.Batch(answer.calls)
        self._answers += 1
        asked.reply.give(heard.wire)

    def _act(self, asked: ToolAsked, carrier: ports.Carrier) -> None:
        """Give a call its result; all calls of the answer run with the first that is asked for."""
        call = self._batch.take(asked.tool, asked.arguments)
        if call is None:
            raise ProtocolBroken(f"the harness asked for a call of {asked.tool} that the model did not make")
        if not self._batch.has_run:
            try:
                self._batch.settle(carrier.call_tools(self._batch.calls, grace_ms=self._grace_ms))
            except ports.TurnSuspended:
                self._put_off(asked)
                raise
        result = self._batch.result(call)
        asked.reply.give(mcp.told(asked, result.content, ok=result.ok))

    def _put_off(self, first: ToolAsked) -> None:
        """Tell the harness that its calls wait, until it has nothing more to ask: so its log tells what is so."""
        item: Item = first
        while isinstance(item, ToolAsked) and not self._cancelled:
            item.reply.give(mcp.told(item, prompts.PUT_OFF, ok=True))
            item = self._bridge.inbox.get()
        if not self._cancelled:
            _check_end(item)

    def _finish_batch(self, carrier: ports.Carrier) -> None:
        """See to it that every call of the last answer has its one result before anything else is asked."""
        if self._batch.left_out:
            raise ProtocolBroken(f"the harness left out a call of {self._batch.left_out[0]}")
        if not self._batch.has_run:  # It refused all of them by itself: they are noted as refused.
            self._batch.settle(carrier.call_tools(self._batch.calls))

    def _end(self, ended: Ended, carrier: ports.Carrier) -> None:
        if ended.problem:
            raise ProtocolBroken(f"the harness ended its turn: {ended.problem}")
        self._finish_batch(carrier)

    def _leave(self, carrier: ports.Carrier) -> None:
        """Let the harness write its log to the end, and see that it has; a killed one may keep less."""
        if self._cancelled:
            self._harness.kill()
        self._harness.close()
        self._bridge.close()
        if self._answers and not self._cancelled:
            self._check_log(carrier)

    def _check_log(self, carrier: ports.Carrier) -> None:
        try:
            path = storage.log(self._home, self._identity)
            storage.keep(path)
            if storage.held(path).answers < self._before.answers + self._answers:
                raise storage.LogDamaged("an answer is missing in the session log")
        except (LookupError, storage.LogDamaged, OSError) as fault:
            self._report(carrier, ports.ProviderUncertain(phase="result", detail=str(fault)))


def _check_end(item: Item) -> None:
    """Raise what an item says that ends a turn before its time: `ProtocolBroken` or `ProcessGone`."""
    if isinstance(item, Broken):
        raise ProtocolBroken(item.detail)
    if isinstance(item, Gone):
        raise ProcessGone(item.detail)
