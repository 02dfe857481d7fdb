"""The stages of a model turn: what plugins are shown of it, and what is taken from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lifecycle_core.contract import errors, stages
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.frozen import draft, freeze
from lifecycle_core.contract.ports import Conversation, ModelAnswer
from lifecycle_core.contract.subjects import Chunk, ModelCall, ModelOutcome
from lifecycle_core.engine import telling
from lifecycle_core.engine.chain import FAILED, Kind
from lifecycle_core.engine.episode import Episode

_SHOWN: Final = (stages.CONTEXT_PREPARE, stages.MODEL_CALL)
_CHANGING: Final[tuple[tuple[str, Kind], ...]] = (
    (stages.CONTEXT_PREPARE, "transformers"),
    (stages.MODEL_CALL, "transformers"),
    (stages.MODEL_CALL, "interceptors"),
    (stages.MODEL_RESPONSE, "transformers"),
)


class Refused(Exception):
    """The model must not be asked. `code` is that of the failure which the turn ends in."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def subject(episode: Episode, conversation: Conversation | None) -> ModelCall:
    """Return what plugins see of a model that is about to be asked; its messages only where a plugin sits that looks."""
    messages: Sequence[Mapping[str, Json]] = ()
    if conversation is not None and any(episode.chain.sits(stage) for stage in _SHOWN):
        messages = freeze(conversation.shown())
    return ModelCall(
        identity=episode.identity,
        trusted=episode.trusted,
        model=episode.record.model,
        messages=messages,
    )


def admit(episode: Episode, conversation: Conversation | None, given: ModelCall) -> ModelCall:
    """Return a model call as the plugins let it be. Raises `Refused` and `chain.StageFailed`.

    Nobody can be asked about a model call, so a gate that wants people to be asked refuses it.
    """
    chain = episode.chain
    if conversation is None and any(chain.has(stage, kind) for stage, kind in _CHANGING):
        raise Refused(FAILED, "this provider does not let plugins change what its model is told")
    prepared = chain.transform(stages.CONTEXT_PREPARE, given)
    call, verdict = chain.admit(stages.MODEL_CALL, prepared)
    if verdict.outcome != "allow":
        raise Refused("MODEL_CALL_REFUSED", f"{verdict.rule}: {verdict.reason}")
    return call


def put(episode: Episode, conversation: Conversation | None, given: ModelCall, call: ModelCall) -> None:
    """Let the model be told what plugins made of its messages. Raises `Refused` for messages that cannot be told."""
    if conversation is None or call.messages is given.messages:
        return
    messages: Any = draft(call.messages)
    try:
        if not messages or not all(isinstance(message, dict) for message in messages):
            raise errors.NotCanonical(detail="they are no list of messages")
        for message in messages:
            telling.size(message)
        if episode.holds_secret(messages):
            raise Refused(FAILED, "a plugin put a leased secret into what the model is told")
    except errors.NotCanonical as problem:
        raise Refused(FAILED, f"a plugin left messages that cannot be told: {problem.detail}") from problem
    conversation.put(messages)


def outcome(call: ModelCall, answer: ModelAnswer) -> ModelOutcome:
    """Return what plugins see of an answer."""
    called = tuple(made.tool for made in answer.calls)
    return replace(call.answered(answer.text), calls=called, usage=freeze(dict(answer.usage)))


def understood(call: ModelCall, given: Any, by: str) -> ModelOutcome:
    """Return an interceptor's outcome; `by` is its name where the outcome is its own. Raises `TypeError` for anything else."""
    if not isinstance(given, ModelOutcome) or not isinstance(given.text, str):
        raise TypeError(f"{type(given).__name__} is no outcome of a model call")
    return replace(call.answered(given.text), by=by) if by else given


def streamed(episode: Episode, text: str) -> str:
    """Return a piece of what the model says as it is shown; nothing where it is dropped. Raises `chain.StageFailed`."""
    if not episode.chain.has(stages.MODEL_STREAM, "transformers"):
        return text
    piece = Chunk(identity=episode.identity, trusted=episode.trusted, text=text)
    return str(episode.chain.transform(stages.MODEL_STREAM, piece).text or "")
