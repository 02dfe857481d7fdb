"""One life of the serving work: look at what is there, take over, drive what can be driven, let people decide."""

import dataclasses
import os
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db import connection, connections

from lifecycle_core.access import actors
from lifecycle_core.application import (
    agents,
    bootstrap,
    credentials,
    demo,
    expiry,
    members,
    permissions,
    tenants,
    work,
)
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.journal.sqlite import checkpoint
from lifecycle_core.testing import scenarios
from tests.faults import diary, evidence, people, points, variants
from tests.faults.orders import Order

DATABASE: Final = "console.sqlite3"
ROUNDS: Final = 40
LONGER_THAN_ANY_LIFE_MS: Final = 3_600_000
SET_UP: Final = "the set-up of the demo"


def carry_out(order: Order) -> None:
    """Do what was ordered, with a database and a workspace in the folder of the order."""
    folder = Path(order.folder)
    if connection.vendor == "sqlite":
        connections.settings["default"]["NAME"] = str(folder / DATABASE)
    settings.LIFECYCLE_WORKSPACES[demo.WORKSPACE] = folder / "workspace"
    settings.LIFECYCLE_HTTP_ORIGINS |= {order.origin}
    if order.scenario == SET_UP:
        set_up(order, folder)
    elif order.scenario:
        live(order, folder)
    else:
        prepare(order, folder)


def prepare(order: Order, folder: Path) -> None:
    """Make what every trial starts from: the schema, the tenant, the agents with their credential, the files."""
    if connection.vendor == "sqlite":
        call_command("migrate", verbosity=0, interactive=False)
    actor = permissions.command_line(people.TENANT)
    if people.TENANT not in tenants.slugs():
        tenants.add(people.TENANT)
    credentials.set(actor, ref=demo.REF, secret=order.secret, bound=[order.model])
    text = scenarios.agents_toml(base_url=order.model, endpoint_origin=order.origin, credential=demo.REF)
    agents.apply(actor, text)
    demo.files(folder / "workspace")
    checkpoint.truncate(connection)


def live(order: Order, folder: Path) -> None:
    """Take over from the last incarnation, if there was one, and go on until nothing is left to do."""
    book = diary.Diary(folder / "diary")
    remembered = diary.read(folder / "diary")
    book.write("born", life=order.life)
    evidence.collect().save(folder / f"found-{order.life}")
    variants.apply(order.variant)
    _pass_time(order.away_ms)
    _note_answers_whole()
    points.install(points.Points(book, order.stop_at))
    serve(order, people.People(people.SCENARIOS[order.scenario], order.endpoint, book, remembered))
    evidence.collect().save(folder / "final")


def set_up(order: Order, folder: Path) -> None:
    """Start the demo on the folder, up to where it would serve, and say who could sign in and call."""
    book = diary.Diary(folder / "diary")
    book.write("born", life=order.life)
    evidence.collect().save(folder / f"found-{order.life}")
    numbered = points.Points(book, order.stop_at)
    points.install(numbered)
    points.around_replacing(numbered)
    demo.files(folder / "demo")
    with demo.running(folder) as state:
        numbered.rest()
        # They share one password, and to check it takes long.
        assert authenticate(None, **state.users["owner"])
        people_in = [name for name in state.users if members.exists(name)]
        callers = [actors.for_token(text).name for text in state.tokens.values()]
        book.write("set up", people=people_in, callers=callers)
    evidence.collect().save(folder / "final")


def _pass_time(away_ms: int) -> None:
    """Set the clock ahead."""
    now_ms = bootstrap.SystemClock.now_ms
    setattr(bootstrap.SystemClock, "now_ms", lambda clock: now_ms(clock) + away_ms)  # noqa: B010


def _note_answers_whole() -> None:
    """Show nothing of an answer before it is whole: that goes by the clock, and a slow machine would add points to a run."""
    services = bootstrap.services()
    timing = dataclasses.replace(services.timing, output_interval_ms=LONGER_THAN_ANY_LIFE_MS)
    whole = dataclasses.replace(services, timing=timing)
    setattr(bootstrap, "services", lambda: whole)  # noqa: B010


def serve(order: Order, crowd: people.People) -> None:
    """Do what the serving process does, one thing after the other; people act when nothing else moves."""
    work.void_leases()
    crowd.begin()
    worker = f"worker-{order.life}-{os.getpid()}"
    for _ in range(ROUNDS):
        expiry.sweep()
        waiting = work.claimable(10)
        for found in waiting:
            work.drive(found.invocation, worker, Interruption())
        if not waiting and not crowd.act():
            return
