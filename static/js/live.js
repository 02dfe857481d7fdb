// Follows the feed: tells the page what to fetch, puts pushed rows in their place, and says how fresh the page is.
const body = document.body;
const lamp = document.getElementById("live");
const SILENT = 25000;
const MOMENT = 10000;
let epoch = body.dataset.epoch;
let position = Number(body.dataset.position || 0);
let heard = 0;
let lost = null;
const passed = [];

function say(state, values = {}) {
  if (!lamp) return;
  let words = lamp.dataset[state] ?? "";
  for (const [name, value] of Object.entries(values)) words = words.replace(`%(${name})s`, value);
  lamp.dataset.state = state;
  const said = lamp.querySelector(".said");
  if (said.textContent !== words) said.textContent = words;
  lamp.title = words;
}

function stale() {
  if (lamp.dataset.state === "closed") return;
  lost ??= new Date();
  say("stale", { time: lost.toTimeString().slice(0, 5) });
}

function fresh(head) {
  lost = null;
  heard = performance.now();
  if (head > position) say("behind", { count: head - position });
  else say("live");
}

// Somebody who is writing is not interrupted: the lamp says that the page is old.
function begin(anew) {
  epoch = anew.epoch;
  position = anew.position;
  const field = document.activeElement;
  const writing = field?.matches("textarea, input:not([type=search], [type=hidden])") && field.value;
  if (writing) stale();
  else location.reload();
}

function tell(name, elements = [body]) {
  for (const element of elements) element.dispatchEvent(new CustomEvent(name, { bubbles: false }));
}

function of(identity, attribute) {
  return [...document.querySelectorAll(`[data-${attribute}="${CSS.escape(identity)}"]`)];
}

function hint(hints) {
  if (hints.inbox) tell("lc:inbox");
  if (hints.started) tell("lc:started");
  if (hints.retired) tell("lc:retired");
  // A card whose own decision is under way waits for the answer to it.
  const deciding = document.querySelector("#detail .htmx-request");
  for (const identity of hints.requests) pass("lc:changed", identity, "request", deciding);
  for (const identity of hints.finished) pass("lc:finished", identity, "invocation", deciding);
  for (const identity of hints.waiting) tell("lc:waiting", of(identity, "invocation"));
  for (const identity of hints.ended) tell("lc:ended", of(identity, "invocation"));
}

// What is said while a card is on its way is said again when it is there: it may have been drawn before that was so.
function pass(name, identity, attribute, later) {
  const now = performance.now();
  while (passed.length && passed[0][0] < now - MOMENT) passed.shift();
  passed.push([now, name, identity, attribute]);
  if (!later) tell(name, of(identity, attribute));
}

document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail.ctx?.target?.id !== "detail") return;
  const since = performance.now() - MOMENT;
  for (const [at, name, identity, attribute] of passed.splice(0)) {
    if (at > since) tell(name, of(identity, attribute));
  }
});

// A row that is there is replaced; a new one goes to the end, if the end is on the page.
function placed(rows) {
  const list = document.querySelector("[data-live-rows]");
  if (!list) return "";
  const known = new Set();
  let replaced = "";
  let added = "";
  for (const row of new Map(rows.map((row) => [row.id, row])).values()) {
    if (known.has(row.id)) continue;
    known.add(row.id);
    if (document.getElementById(row.id)) replaced += row.html.replace("<li ", '<li hx-swap-oob="outerHTML" ');
    else if (!document.getElementById("more")) added += row.html;
  }
  return replaced + (added ? `<ol hx-swap-oob="beforeend:#${list.id}">${added}</ol>` : "");
}

function take(message) {
  if (message.type === "resync") return begin(message);
  if (message.previous !== position || (epoch && message.epoch !== epoch)) return begin(message);
  epoch = message.epoch;
  position = message.position;
  fresh(message.head);
}

lamp?.addEventListener("htmx:after:ws:connection", (event) => {
  const cursor = { epoch, position };
  event.detail.connection.socket.send(JSON.stringify({ cursor, view: body.dataset.view }));
  heard = performance.now();
});

lamp?.addEventListener("htmx:before:ws:message", (event) => {
  const message = event.detail.message;
  take(message.json);
  if (message.json.type === "parts") message.json.content = message.json.chips + placed(message.json.rows);
});

lamp?.addEventListener("htmx:after:ws:message", (event) => {
  const message = event.detail.message.json;
  if (message.type !== "parts") return;
  hint(message.hints);
  if (message.rows.length) tell("lc:moved", document.querySelectorAll("[data-figures]"));
  document.dispatchEvent(new CustomEvent("lc:rows"));
});

lamp?.addEventListener("htmx:ws:close", (event) => {
  if (event.detail.code === 4401) {
    say("closed");
    event.detail.connection.config.reconnect = false;
    return;
  }
  if (event.detail.code !== null) stale();
});

setInterval(() => {
  if (heard && performance.now() - heard > SILENT) stale();
}, 1000);

// Connected here and not by an attribute of the page: htmx looks for those in a moment in which its extension may still be on
// its way, and the socket must not open before somebody listens.
if (lamp) {
  lamp.setAttribute("hx-ws:connect", lamp.dataset.socket);
  htmx.process(lamp);
}
