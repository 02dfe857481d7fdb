"""The figures count what the journals hold."""

from tests.console.api.conftest import Api, World


def test_the_figures_count_what_the_journals_hold(api: Api, world: World) -> None:
    decided, approval, _ = world.approval(), world.approval(), world.input()
    body = {"decision": "approve", "request_digest": decided.request_digest}
    api.post(f"approvals/{decided.id}/decision", body)
    world.drive(decided.invocation)
    text = api.client.get("/metrics").content.decode()
    for line in (
        'lifecycle_invocations{status="awaiting-input",tenant="default"} 2.0',
        'lifecycle_invocations{status="completed",tenant="default"} 1.0',
        'lifecycle_open_requests{kind="approval",tenant="default"} 1.0',
        'lifecycle_open_requests{kind="input",tenant="default"} 1.0',
        'lifecycle_decisions{decision="approve",tenant="default"} 1.0',
        f'lifecycle_feed_head{{tenant="default"}} {api.get("feed").json()["head"]}.0',
    ):
        assert line in text
    assert approval.id not in text
