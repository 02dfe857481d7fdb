"""An update of the status page: one request to the outside that nobody can take back."""

import json

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Answer, Call, Reply
from lifecycle_core.testing.chat_requests import ChatRequest, Done
from lifecycle_core.testing.scenarios import steps


def script(request: ChatRequest) -> Reply:
    """Read the incident, post it, report what the status page answered."""
    read = request.last("files_read")
    if read is None:
        return Answer(
            text="I read what is known about the incident.", calls=(steps.read("docs/incident.md"),)
        )
    posted = request.last("http_request")
    if posted is None:
        incident = steps.fields(steps.content(read))
        if not incident:
            reason = read.reason or "docs/incident.md says nothing"
            return steps.complete("There is no incident to post.", {"status": None, "declined": reason})
        return _post(str(request.input["url"]), incident)
    return _report(posted)


def _post(url: str, incident: dict[str, str]) -> Answer:
    update = {
        "component": incident.get("component", ""),
        "status": incident.get("status", ""),
        "message": f"{incident.get('impact', '')} Next update: {incident.get('next update', 'soon')}.",
    }
    arguments: dict[str, Json] = {
        "method": "POST",
        "url": url,
        "headers": {"Content-Type": "application/json"},
        "body": json.dumps(update, ensure_ascii=False),
    }
    text = f"{update['component']}: {update['status']}. I post this to the status page."
    return Answer(text=text, calls=(Call(tool="http_request", arguments=arguments),))


def _report(posted: Done) -> Answer:
    status = posted.result.get("status") if isinstance(posted.result, dict) else None
    if isinstance(status, int):
        word = "took the update" if status < 400 else "did not take the update"
        return steps.complete(f"The status page {word} ({status}).", {"status": status})
    reason = steps.why_not(posted)
    return steps.complete(f"The update was not posted: {reason}", {"status": None, "declined": reason})
