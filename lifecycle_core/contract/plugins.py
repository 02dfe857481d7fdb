"""What a plugin is: one act of one kind at one stage, and what it may say there.

| kind | is given | returns | may change | when it fails |
|---|---|---|---|---|
| gate | the subject | a `Verdict` | nothing | that is a refusal |
| transformer | the subject | another subject, or nothing to keep it | what the stage says is mutable | the stage fails |
| interceptor | the subject and what follows | an outcome | what the stage says is mutable | the stage fails |
| observer | a `Moment` | nothing | nothing | the run goes on |

Every act may be an `async def`. A failure of any kind is an event that names the plugin. Reference: seed-contracts 23.2; DESIGN
section 8.
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from lifecycle_core.contract import stages

type Risk = Literal["low", "medium", "high"]

BUILT_IN: Final = "built-in"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A gate's answer; `rule` names the gate and, where it has them, the rule and its version."""

    outcome: Literal["allow", "refuse", "ask"]
    rule: str
    reason: str = ""
    risk: Risk = "medium"


type Judge = Callable[[Any], Verdict | Awaitable[Verdict]]
type Transform = Callable[[Any], Any]
type Intercept = Callable[[Any, Callable[[Any], Any]], Any]
type Observe = Callable[[Any], object]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """One act of one kind at one stage. Raises `ValueError` for a stage that is not there or takes no such kind."""

    name: str
    stage: str
    kind: stages.Kind
    act: Judge | Transform | Intercept | Observe
    extension: str = BUILT_IN

    def __post_init__(self) -> None:
        stage = stages.BY_NAME.get(self.stage)
        if stage is None:
            raise ValueError(f"{self.identity}: there is no stage {self.stage}")
        if self.kind not in stage.kinds:
            raise ValueError(f"{self.identity}: no {self.kind} can sit at {self.stage}")

    @property
    def identity(self) -> str:
        """Return the name that tells this plugin from those of other extensions."""
        return f"{self.extension}/{self.name}"

    @cached_property
    def is_async(self) -> bool:
        """Tell whether the act is an `async def`, as a function or as an object that is called."""
        called = getattr(type(self.act), "__call__", None)  # noqa: B004  (what it is, not whether)
        return inspect.iscoroutinefunction(self.act) or inspect.iscoroutinefunction(called)
