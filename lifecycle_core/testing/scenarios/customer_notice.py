"""A notice to customers that is revised once when a person refuses the draft with a reason."""

from typing import Final

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Answer, Reply
from lifecycle_core.testing.chat_requests import ChatRequest, Done
from lifecycle_core.testing.scenarios import steps

PATH: Final = "drafts/notice.md"
TONES: Final[dict[str, Json]] = {"type": "string", "enum": ["friendly", "formal", "urgent"]}
DRAFTS: Final = 2


def script(request: ChatRequest) -> Reply:
    """Ask for the tone, write a draft, revise it once if it is refused, report."""
    topic = str(request.input["topic"])
    asked = request.last("workflow_request_input")
    if asked is None:
        prompt = f"Which tone should the notice about “{topic}” have?"
        calls = (steps.read("docs/maintenance.md"), steps.ask("tone", prompt, TONES))
        return Answer(text="I read what is planned, and ask for the tone meanwhile.", calls=calls)
    tone = asked.answer if isinstance(asked.answer, str) else "formal"
    plan = _plan(request)
    drafts = request.calls("files_write")
    if not drafts:
        return Answer(text=f"Here is a {tone} draft.", calls=(steps.write(PATH, _draft(topic, tone, plan)),))
    return _after(drafts, topic, tone, plan)


def _plan(request: ChatRequest) -> dict[str, str]:
    read = request.last("files_read")
    return steps.fields(steps.content(read)) if read else {}


def _after(drafts: list[Done], topic: str, tone: str, plan: dict[str, str]) -> Answer:
    path = steps.written(drafts[-1])
    if path:
        return steps.complete(f"The draft is in {path}.", {"path": path, "tone": tone})
    reason = steps.why_not(drafts[-1])
    if len(drafts) < DRAFTS:
        text = f"The draft was not accepted: {reason} I offer a shorter one."
        return Answer(text=text, calls=(steps.write(PATH, _short(topic, plan)),))
    return steps.complete(
        f"No draft was accepted: {reason}", {"path": None, "tone": tone, "declined": reason}
    )


def _draft(topic: str, tone: str, plan: dict[str, str]) -> str:
    greetings = {"friendly": "Hello,", "formal": "Dear customer,", "urgent": "Please read this today."}
    closings = {
        "friendly": "Thank you for bearing with us!",
        "formal": "Yours sincerely",
        "urgent": "Thank you",
    }
    lines = [
        f"# {topic}",
        "",
        greetings.get(tone, greetings["formal"]),
        "",
        f"When: {plan.get('window', 'to be announced')}",
        "",
        plan.get("affected", "We will tell you what is affected as soon as we know."),
        "",
        f"Questions? Write to {plan.get('contact', 'our support')}.",
        "",
        f"{closings.get(tone, closings['formal'])}\nThe Harbour team",
    ]
    return "\n".join(lines) + "\n"


def _short(topic: str, plan: dict[str, str]) -> str:
    return f"# {topic}\n\n{plan.get('window', 'To be announced')}. {plan.get('affected', '')}".rstrip() + "\n"
