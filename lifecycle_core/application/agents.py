"""Use cases over agents: register definitions, and find the version that an invocation is bound to."""

import tomllib
from functools import lru_cache
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from lifecycle_core.access.models import AgentVersion, AgentWithdrawal
from lifecycle_core.application import permissions, tenants
from lifecycle_core.application.resources import ActionItem, AgentItem
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.actor import Actor, Permission
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.engine import result_schema
from lifecycle_core.tools import catalogue

NAME: Final[Json] = {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]*$", "maxLength": 100}
TEXT: Final[Json] = {"type": "string", "maxLength": 200_000}
# As long as a dispatch can carry it (`engine.dispatches`), and without a NUL, which no column holds.
WORD: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\u0000]*$"}
PATH: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 4096}
POSITIVE: Final[Json] = {"type": "integer", "minimum": 1}


def _closed(required: list[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "required": list(required),
        "properties": dict(properties),
        "additionalProperties": False,
    }


def _each(items: Json, least: int = 0) -> dict[str, Json]:
    return {"type": "array", "items": items, "minItems": least}


def _one_of(*words: str) -> dict[str, Json]:
    return {"enum": list(words)}


ACTION: Final = _closed(
    ["name", "purpose", "input_schema", "result_schema"],
    name=NAME,
    purpose=TEXT,
    input_schema={"type": "object"},
    result_schema={"type": "object"},
)
AGENT: Final = _closed(
    ["name", "provider", "model", "capabilities", "actions"],
    name=NAME,
    provider=_one_of("chat-completions", "dsh-headless", "remote-agent", "copilot-sdk", "codex-cli"),
    model=WORD,
    base_url={"type": "string", "pattern": "^https?://", "maxLength": 2000},
    credential={"type": "string", "pattern": "^refs/", "maxLength": 200},
    instructions=TEXT,
    capabilities=_each(_one_of("structured-completion", "action-interaction"), 1),
    tools=_each({"type": "string"}),
    extensions={"type": "array", "maxItems": 0},
    workspace=NAME,
    access=_each(_closed(["mode", "path"], mode=_one_of("read", "write"), path=PATH)),
    session=_closed(
        [],
        scope=_one_of("episode", "data-bound"),
        isolation=_one_of("shared", "isolated"),
        source=WORD,
    ),
    limits=_closed([], model_turns=POSITIVE, tool_calls=POSITIVE, tokens=POSITIVE, seconds=POSITIVE),
    actions=_each(ACTION, 1),
)
FILE: Final = _closed(["agents"], agents=_each(AGENT, 1))


def apply(actor: Actor, toml_text: str) -> list[AgentItem]:
    """Register the agents of a TOML text, all or none.

    A changed agent gets a new version; invocations keep the one that they were started with. A version that was withdrawn and
    is registered again is back. Raises `errors.SchemaInvalid`
    with a pointer to every wrong place, and `errors.ConfigurationInvalid` for a text that is no TOML.
    """
    permissions.check_can_administer(actor)
    tenants.check(actor.tenant)
    sources = _read(toml_text)
    with transaction.atomic():
        for source in sources:
            _register(actor, source)
    return [_item(AgentDefinition.of(source)) for source in sources]


def _read(toml_text: str) -> list[dict[str, Any]]:
    try:
        document: Any = tomllib.loads(toml_text)
        digests.canonical(document)
    except (tomllib.TOMLDecodeError, errors.NotCanonical, RecursionError) as cause:
        raise errors.ConfigurationInvalid(detail=f"The text is no valid TOML of agents: {cause}") from cause
    problems = result_schema.validate(FILE, document) or _beyond_schema(document["agents"])
    if problems:
        raise errors.SchemaInvalid(problems=problems)
    return list(document["agents"])


def _beyond_schema(sources: list[dict[str, Any]]) -> list[Problem]:
    """Return what a schema cannot say: names given twice, unknown tools, sessions bound to nothing, schemas that are none."""
    problems = _twice("/agents", sources)
    for index, source in enumerate(sources):
        pointer = f"/agents/{index}"
        problems += _twice(f"{pointer}/actions", source["actions"])
        session = source.get("session", {})
        if session.get("scope") == "data-bound" and "source" not in session:
            problems.append(Problem(f"{pointer}/session", "a data-bound session names its source"))
        for position, tool in enumerate(source.get("tools", ())):
            if not catalogue.by_family(tool):
                problems.append(Problem(f"{pointer}/tools/{position}", f"there is no tool family {tool}"))
        for position, action in enumerate(source["actions"]):
            for name in ("input_schema", "result_schema"):
                at = f"{pointer}/actions/{position}/{name}"
                problems += [
                    Problem(at + p.pointer, p.detail) for p in result_schema.check_form(action[name])
                ]
    return problems


def _twice(pointer: str, named: list[dict[str, Any]]) -> list[Problem]:
    seen: set[str] = set()
    problems = []
    for index, item in enumerate(named):
        if item["name"] in seen:
            problems.append(Problem(f"{pointer}/{index}/name", f"{item['name']} is named twice"))
        seen.add(item["name"])
    return problems


def _register(actor: Actor, source: dict[str, Any]) -> None:
    agent = AgentDefinition.of(source)
    versions = AgentVersion.objects.filter(tenant_id=actor.tenant, name=agent.name)
    versions.filter(current=True).exclude(binding=agent.binding).update(current=False)
    row, _ = AgentVersion.objects.update_or_create(
        tenant_id=actor.tenant,
        name=agent.name,
        binding=agent.binding,
        defaults={"definition": digests.canonical(source).decode(), "current": True},
    )
    _withdrawals(actor.tenant).filter(version=row).update(ended_by=actor.name, ended_at=timezone.now())


def _withdrawals(tenant: str) -> QuerySet[AgentWithdrawal]:
    """Return the withdrawals that last."""
    return AgentWithdrawal.objects.filter(version__tenant_id=tenant, ended_at=None)


def is_withdrawn(tenant: str, name: str, binding: str) -> bool:
    """Tell whether a version of an agent may start nothing any more."""
    return _withdrawals(tenant).filter(version__name=name, version__binding=binding).exists()


def check_not_withdrawn(tenant: str, name: str, binding: str) -> None:
    """Refuse what a version of an agent would start that was withdrawn. Raises `errors.AgentWithdrawn`."""
    if is_withdrawn(tenant, name, binding):
        raise errors.AgentWithdrawn


def startable(tenant: str, name: str) -> AgentDefinition:
    """Return the current version of an agent, to start it. Raises `errors.NotFound` and `errors.AgentWithdrawn`."""
    agent = current(tenant, name)
    check_not_withdrawn(tenant, name, agent.binding)
    return agent


def current(tenant: str, name: str) -> AgentDefinition:
    """Return the current version of an agent. Raises `errors.NotFound`."""
    row = AgentVersion.objects.filter(tenant_id=tenant, name=name, current=True).first()
    if row is None:
        raise errors.NotFound
    return _defined(row.definition)


@lru_cache(maxsize=512)
def version(tenant: str, name: str, binding: str) -> AgentDefinition:
    """Return one version of an agent, which never changes. Raises `errors.NotFound`."""
    row = AgentVersion.objects.filter(tenant_id=tenant, name=name, binding=binding).first()
    if row is None:
        raise errors.NotFound
    return _defined(row.definition)


@lru_cache(maxsize=512)
def _defined(definition: str) -> AgentDefinition:
    source = digests.parse(definition)
    return AgentDefinition.of(source if isinstance(source, dict) else {})


def listed(actor: Actor) -> list[AgentItem]:
    """Return the current agents by name."""
    permissions.check_can_read(actor)
    rows = AgentVersion.objects.filter(tenant_id=actor.tenant, current=True).order_by("name")
    withdrawn = set(_withdrawals(actor.tenant).values_list("version_id", flat=True))
    return [_item(_defined(row.definition), actor, withdrawn=row.pk in withdrawn) for row in rows]


def shown(actor: Actor, name: str) -> AgentItem:
    """Return one agent in its current version. Raises `errors.NotFound`."""
    permissions.check_can_read(actor)
    agent = current(actor.tenant, name)
    return _item(agent, actor, withdrawn=is_withdrawn(actor.tenant, name, agent.binding))


def _item(agent: AgentDefinition, actor: Actor | None = None, *, withdrawn: bool = False) -> AgentItem:
    return AgentItem(
        name=agent.name,
        binding=agent.binding,
        provider=agent.provider,
        model=agent.model,
        base_url=agent.base_url,
        credential=agent.credential,
        instructions=agent.instructions,
        capabilities=agent.capabilities,
        tools=agent.tools,
        workspace=agent.workspace,
        access=[{"mode": rule.mode, "path": rule.path} for rule in agent.access],
        limits=vars(agent.limits),
        actions=[ActionItem(**vars(action)) for action in agent.actions.values()],
        startable=actor is not None and actor.may(Permission.START) and not withdrawn,
        withdrawn=withdrawn,
    )
