"""Plugins around a tool call: what was approved is what runs, once, whatever they do."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.contract import stages
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.subjects import Moment, ToolCall
from lifecycle_core.plugins.ask_gate import AskGate
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, call, calls, complete
from tests.lifecycle_core.seated import interceptor, observer, transformer

pytestmark = pytest.mark.django_db


def setting(**arguments: Any) -> Callable[[ToolCall], ToolCall]:
    return lambda call: call.changed(arguments={**call.arguments, **arguments})


def rewriting(**arguments: Any) -> Plugin:
    return interceptor(lambda call, proceed: proceed(setting(**arguments)(call)), "rewriter")


def twice(call: ToolCall, proceed: Any) -> Any:
    proceed()
    return proceed()


def result(world: World, invocation: UUID) -> tuple[str, Any]:
    outcome, content = world.results(invocation)["a"]
    return outcome, content


def broken(*given: Any) -> Any:
    raise RuntimeError("out of order")


# Transformers before the approval.


def test_people_are_asked_about_what_transformers_made_of_a_call_and_that_runs(world: World) -> None:
    world.plugins.append(transformer(setting(n=2)))
    invocation = world.run(calls(call(w.SEND, "a", to="ann")), complete())
    approval = world.approval(invocation)
    assert approval.arguments == {"to": "ann", "n": 2}
    [requested] = world.of_kind(invocation, "tool.requested")
    assert (requested["arguments"], requested["proposed"]) == ({"to": "ann", "n": 2}, {"to": "ann"})
    world.decide(approval)
    world.settle()
    assert world.tools[w.SEND].arguments == [{"to": "ann", "n": 2}]
    assert world.status(invocation) == "completed"


def test_the_gates_judge_what_transformers_made_of_a_call(world: World) -> None:
    class NotTwo:
        name = "not-two"

        def judge(self, call: ToolCall) -> Verdict:
            return Verdict(outcome="refuse" if call.arguments.get("n") == 2 else "allow", rule=self.name)

    world.gates[:] = [NotTwo()]
    world.plugins.append(transformer(setting(n=2)))
    invocation = world.run(calls(call(w.SEND, "a")), complete())
    assert result(world, invocation)[1]["error"] == "REFUSED"
    assert world.tools[w.SEND].ran == []


LEFT_WRONG: Final[dict[str, tuple[Any, str]]] = {
    "arguments that do not fit the tool": (setting(n="two"), "ARGUMENTS_INVALID"),
    "arguments that are no object": (lambda call: call.changed(arguments=["x"]), "ARGUMENTS_INVALID"),
    "arguments that are no JSON": (setting(n=2**60), "ARGUMENTS_INVALID"),
    "arguments with a secret": (setting(to=w.SECRET), "SECRET_IN_ARGUMENTS"),
    "another tool": (lambda call: call.changed(tool=w.LOOK), "EXTENSION_FAILED"),
    "an exception": (broken, "EXTENSION_FAILED"),
}


@pytest.mark.parametrize(("act", "code"), LEFT_WRONG.values(), ids=LEFT_WRONG.keys())
def test_a_call_that_a_transformer_leaves_wrong_is_refused(world: World, act: Any, code: str) -> None:
    world.gates[:] = [w.AllowGate()]
    world.plugins.append(transformer(act, "faulty"))
    invocation = world.run(calls(call(w.SEND, "a")), complete())
    assert result(world, invocation)[1]["error"] == code
    assert world.tools[w.SEND].ran == []
    assert world.status(invocation) == "completed"
    named = [(fact["plugin"], fact["stage"]) for fact in world.of_kind(invocation, "extension.failed")]
    assert named == ([("faulty", "tool.admit")] if code == "EXTENSION_FAILED" else [])
    assert w.SECRET not in str(world.events(invocation))


# What changes after the approval.


def superseded(world: World, invocation: Any) -> list[str]:
    return [item.state for item in world.approvals(invocation, state=None)]


@pytest.mark.parametrize(
    "plugin", [transformer(setting(n=7)), rewriting(n=7)], ids=["a transformer", "an interceptor"]
)
def test_a_plugin_that_changes_an_approved_call_leads_to_a_new_approval(world: World, plugin: Plugin) -> None:
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    world.decide(world.approval(invocation))
    world.plugins.append(plugin)
    world.settle()
    assert world.tools[w.SEND].ran == []
    assert superseded(world, invocation) == ["superseded", "pending"]
    assert world.approval(invocation).arguments == {"n": 7}
    world.decide(world.approval(invocation))
    world.settle()
    assert world.tools[w.SEND].arguments == [{"n": 7}]
    assert world.status(invocation) == "completed"
    assert len(world.of_kind(invocation, "tool.intended")) == 1


def test_a_plugin_that_changes_what_a_person_has_edited_leads_to_a_new_approval(world: World) -> None:
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    world.plugins.append(transformer(setting(to="bob")))
    world.decide(world.approval(invocation), "edit", arguments={"n": 5})
    world.settle()
    assert world.tools[w.SEND].ran == []
    assert world.approval(invocation).arguments == {"n": 5, "to": "bob"}


def test_an_interceptor_may_rewrite_what_nobody_is_asked_about(world: World) -> None:
    world.plugins.append(rewriting(n=7))
    invocation = world.run(calls(call(w.LOOK, "a", n=1)), complete())
    assert world.tools[w.LOOK].arguments == [{"n": 7}]
    [intended] = world.of_kind(invocation, "tool.intended")
    assert intended["arguments"] == {"n": 7}
    assert result(world, invocation) == ("executed", {"done": {"n": 7}})


def test_an_interceptor_that_rewrites_into_what_gates_ask_about_asks(world: World) -> None:
    class AskAboutSeven:
        name = "seven"

        def judge(self, call: ToolCall) -> Verdict:
            return Verdict(outcome="ask" if call.arguments.get("n") == 7 else "allow", rule=self.name)

    world.gates[:] = [AskAboutSeven()]
    world.plugins.append(rewriting(n=7))
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    assert world.tools[w.SEND].ran == []
    assert world.approval(invocation).arguments == {"n": 7}


@pytest.mark.parametrize("worse", [{"n": "seven"}, {"to": w.SECRET}], ids=["invalid", "a secret"])
def test_an_interceptor_cannot_rewrite_into_what_the_tool_does_not_take(
    world: World, worse: dict[str, Any]
) -> None:
    world.plugins.append(rewriting(**worse))
    invocation = world.run(calls(call(w.LOOK, "a", n=1)), complete())
    assert world.tools[w.LOOK].ran == []
    assert result(world, invocation)[0] == "refused"


# Repeats and answers of their own.


def test_each_repeat_is_a_recorded_attempt(world: World) -> None:
    world.plugins.append(interceptor(twice))
    invocation = world.run(calls(call(w.LOOK, "a", n=1)), complete())
    assert len(world.tools[w.LOOK].ran) == 2
    assert [fact["attempt"] for fact in world.of_kind(invocation, "tool.intended")] == [1, 2]
    [attempted] = world.of_kind(invocation, "tool.attempted")
    assert (attempted["attempt"], attempted["content"]) == (1, {"done": {"n": 1}})
    assert result(world, invocation)[0] == "executed"


def test_an_approved_call_runs_once_whatever_an_interceptor_wants(world: World) -> None:
    world.plugins.append(interceptor(twice))
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    world.decide(world.approval(invocation))
    world.settle()
    assert len(world.tools[w.SEND].ran) == 1
    outcome, content = result(world, invocation)
    assert (outcome, content["error"]) == ("failed", "REPEAT_NOT_APPROVED")
    [attempted] = world.of_kind(invocation, "tool.attempted")
    assert attempted["content"] == {"done": {"n": 1}}


@pytest.mark.parametrize(("ok", "outcome"), [(True, "answered"), (False, "refused")])
def test_an_interceptor_that_answers_itself_keeps_a_call_from_running(
    world: World, ok: bool, outcome: str
) -> None:
    world.plugins.append(interceptor(lambda call, proceed: call.answered("mine", ok=ok), "cache"))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert world.tools[w.LOOK].ran == []
    assert result(world, invocation) == (outcome, "mine")
    [completed] = [fact for fact in world.of_kind(invocation, "tool.completed") if fact["call_id"] == "a"]
    assert completed["by"] == "built-in/cache"
    assert "tool.intended" not in world.kinds(invocation)


def test_what_the_world_said_is_kept_where_an_interceptor_says_something_else(world: World) -> None:
    world.plugins.append(interceptor(lambda call, proceed: proceed().changed(content="polished"), "polish"))
    invocation = world.run(calls(call(w.LOOK, "a", n=1)), complete())
    assert result(world, invocation) == ("executed", "polished")
    assert world.of_kind(invocation, "tool.attempted")[0]["content"] == {"done": {"n": 1}}


def test_an_interceptor_that_fails_before_it_goes_on_keeps_the_call_from_running(world: World) -> None:
    world.plugins.append(interceptor(broken, "faulty"))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert world.tools[w.LOOK].ran == []
    assert result(world, invocation)[0] == "refused"
    assert world.of_kind(invocation, "extension.failed")[0]["plugin"] == "faulty"


def test_of_an_interceptor_that_fails_afterwards_it_is_said_that_the_call_was_carried_out(
    world: World,
) -> None:
    world.plugins.append(interceptor(lambda call, proceed: proceed() and broken()))
    invocation = world.run(calls(call(w.LOOK, "a", n=1)), complete())
    outcome, content = result(world, invocation)
    assert (outcome, content["error"]) == ("failed", "EXTENSION_FAILED")
    assert "was carried out" in content["detail"]
    assert world.of_kind(invocation, "tool.attempted")[0]["content"] == {"done": {"n": 1}}


def test_a_call_whose_outcome_is_unknown_stays_so_behind_an_interceptor(world: World) -> None:
    world.gates[:] = [w.AllowGate()]

    def swallow(call: ToolCall, proceed: Any) -> Any:
        try:
            return proceed()
        except Exception:  # noqa: BLE001  (that is what it tries)
            return call.answered("fine")

    world.plugins.append(interceptor(swallow))
    world.tools[w.SEND].act = broken
    invocation = world.run(calls(call(w.SEND, "a")), complete())
    assert world.status(invocation) == "unknown"


def test_of_a_repeat_that_may_not_be_sent_as_it_is_it_is_said_that_the_call_was_carried_out(
    world: World,
) -> None:
    def second_time_wrong(call: ToolCall, proceed: Any) -> Any:
        proceed()
        return proceed(setting(n="x")(call))

    world.plugins.append(interceptor(second_time_wrong))
    invocation = world.run(calls(call(w.LOOK, "a", n=1)), complete())
    outcome, content = result(world, invocation)
    assert (outcome, content["error"]) == ("failed", "ARGUMENTS_INVALID")
    assert "was carried out" in content["detail"]
    assert len(world.tools[w.LOOK].ran) == 1


# Results and observers.


@pytest.mark.parametrize("fails", [False, True], ids=["changes", "fails over"])
def test_a_result_that_was_found_out_afterwards_passes_the_transformers_of_results(
    world: World, fails: bool
) -> None:
    act = broken if fails else lambda outcome: outcome.changed(content="shortened")
    world.gates[:] = [w.AllowGate()]
    world.plugins.append(transformer(act, "shorten", stages.TOOL_RESULT))
    world.tools[w.PUT].found = "truth"
    invocation = world.start(calls(call(w.PUT, "a")), complete())

    def die(arguments: Any, context: Any) -> Any:
        raise w.Killed

    world.tools[w.PUT].act = die
    world.kill(invocation)
    world.drive(invocation)
    outcome, content = result(world, invocation)
    if fails:
        assert (outcome, content["error"]) == ("failed", "EXTENSION_FAILED")
    else:
        assert (outcome, content) == ("executed", "shortened")
    [completed] = [fact for fact in world.of_kind(invocation, "tool.completed") if fact["call_id"] == "a"]
    assert completed["reconciled"]
    assert len(world.tools[w.PUT].ran) == 1


def test_a_transformer_of_results_changes_what_the_agent_is_told(world: World) -> None:
    world.plugins.append(
        transformer(lambda outcome: outcome.changed(content={"short": True}), "shorten", stages.TOOL_RESULT)
    )
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert result(world, invocation) == ("executed", {"short": True})


def test_a_transformer_of_results_that_fails_withholds_them(world: World) -> None:
    world.plugins.append(transformer(broken, "faulty", stages.TOOL_RESULT))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    outcome, content = result(world, invocation)
    assert (outcome, content["error"]) == ("failed", "EXTENSION_FAILED")


@pytest.mark.parametrize("how", ["works", "fails", "is refused", "asks again", "is lost"])
def test_what_begins_before_a_call_ends_after_it_on_every_path(world: World, how: str) -> None:
    seen: list[Moment] = []
    world.gates[:] = [w.AllowGate()]
    world.plugins.append(observer(seen.append))
    match how:
        case "fails":
            world.plugins.append(interceptor(broken))
        case "is refused":
            world.plugins.append(rewriting(n="x"))
        case "asks again":
            world.gates[:] = [AskGate()]
        case "is lost":
            world.tools[w.SEND].act = broken
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    if how == "asks again":
        assert seen == []
        world.decide(world.approval(invocation))
        world.plugins.append(rewriting(n=2))
        world.settle()
    ended = {"works": "done", "fails": "failed", "is refused": "refused", "asks again": "asked again"}
    assert [moment.when for moment in seen] == ["before", "after"]
    assert seen[1].ended == ended.get(how, "unknown")
    if how == "works":
        assert seen[1].outcome.content["done"] == {"n": 1}


def test_a_failing_observer_is_in_the_journal_and_the_run_goes_on(world: World) -> None:
    world.plugins.append(observer(broken, "faulty"))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert world.status(invocation) == "completed"
    assert {fact["plugin_kind"] for fact in world.of_kind(invocation, "extension.failed")} == {"observer"}


def test_what_a_plugin_says_when_it_fails_carries_no_secret(world: World) -> None:
    def telling(moment: Moment) -> None:
        raise RuntimeError(f"with {w.SECRET}")

    world.plugins.append(observer(telling))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert world.of_kind(invocation, "extension.failed")
    assert w.SECRET not in str(world.events(invocation))
