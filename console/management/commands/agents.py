"""`manage.py agents apply FILE`, `agents list`, `agents versions NAME` and `agents withdraw NAME`."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.errors import instant
from console.management.base import ConsoleCommand, actor, add_tenant
from lifecycle_core.application import agents, queries, versions
from lifecycle_core.application.resources import VersionItem
from lifecycle_core.contract.errors import SchemaInvalid


class Command(ConsoleCommand):
    help = "Register agents from a TOML file, list those that are registered, or withdraw a version of one."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        apply = actions.add_parser("apply", help="register the agents of a file; - reads standard input")
        apply.add_argument("file")
        add_tenant(apply)
        add_tenant(actions.add_parser("list", help="list the agents in their current versions"))
        listing = actions.add_parser("versions", help="list the versions of an agent, the newest first")
        withdraw = actions.add_parser(
            "withdraw",
            help="let a version of an agent start nothing any more; apply it again to bring it back",
        )
        withdraw.add_argument("--binding", metavar="sha256:…", help="(default: that of the current version)")
        withdraw.add_argument("--reason", default="", help="why, for those who ask later")
        for action in (listing, withdraw):
            action.add_argument("name")
            add_tenant(action)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "apply":
            self._apply(options)
        elif options["action"] == "list":
            self._list(options)
        elif options["action"] == "versions":
            for version in queries.agent_versions(actor(options), options["name"]):
                self.stdout.write(_line(version))
        else:
            given = {"binding": options["binding"], "reason": options["reason"]}
            self.stdout.write(_line(versions.withdraw(actor(options), options["name"], **given)))

    def _list(self, options: dict[str, Any]) -> None:
        for agent in queries.agents(actor(options)):
            end = "\twithdrawn" if agent.withdrawn else ""
            self.stdout.write(f"{agent.name}\t{agent.provider}\t{agent.model}\t{agent.binding}{end}")

    def _apply(self, options: dict[str, Any]) -> None:
        try:
            applied = agents.apply(actor(options), _read(options["file"]))
        except SchemaInvalid as refusal:
            lines = [f"  {problem.pointer or '/'}: {problem.detail}" for problem in refusal.problems]
            raise CommandError("\n".join([f"{refusal.sentence} ({refusal.code})", *lines])) from refusal
        for agent in applied:
            self.stdout.write(f"{agent.name}\t{agent.binding}")


def _line(version: VersionItem) -> str:
    last = version.withdrawals[-1] if version.state == "withdrawn" else None
    words = [version.binding, version.state, f"registered {instant(version.registered_at)}"]
    words += [f"{version.running} running"]
    words += [f"withdrawn {instant(last.at)} by {last.by}", last.reason] if last else []
    return "\t".join(word for word in words if word)


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise CommandError(f"{name} cannot be read: {cause}") from cause
