// The keyboard. Single letters do nothing while a field has the focus, nor in the first moment after a card appears.
const QUIET = 350;
let drawn = performance.now();
let swapped = -Infinity;
let pressed = -Infinity;
let going = false;

const typing = (element) => element?.closest?.("input, textarea, select, [contenteditable]");
const visible = (element) => element && element.getClientRects().length > 0;

function rows() {
  return [...document.querySelectorAll("[data-row]")].filter(visible);
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const current = all.indexOf(document.activeElement.closest?.("[data-row]"));
  const selected = all.findIndex((row) => row.getAttribute("aria-current") === "true");
  const from = current >= 0 ? current : selected;
  const next = all[Math.min(all.length - 1, Math.max(0, from < 0 ? 0 : from + step))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function go(letter) {
  const link = document.querySelector(`[data-go="${CSS.escape(letter)}"]`);
  if (link) location.assign(link.href);
}

function press(control) {
  if (!visible(control) || control.disabled) return;
  if (control.matches("[data-approve]")) return arm(control);
  if (control.matches("summary")) {
    const panel = control.parentElement;
    panel.open = true;
    panel.querySelector("textarea")?.focus();
    panel.scrollIntoView({ block: "nearest" });
    return;
  }
  control.click();
}

// The first press goes to the button and marks it, the second confirms.
function arm(button) {
  if (button.classList.contains("armed")) return button.click();
  button.classList.add("armed");
  const pane = button.closest(".detail");
  if (pane) pane.scrollTop = pane.scrollHeight;
  button.scrollIntoView({ block: "nearest" });
  button.focus({ preventScroll: true });
}

function disarm() {
  for (const button of document.querySelectorAll(".armed")) button.classList.remove("armed");
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    disarm();
    if (typing(event.target)) event.target.blur();
    return;
  }
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.repeat && event.key !== "j" && event.key !== "k") return;
  if (going) {
    going = false;
    go(event.key);
    return;
  }
  if (event.key === "?") {
    event.preventDefault();
    document.getElementById("keys")?.showModal();
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "j" || event.key === "k") {
    move(event.key === "j" ? 1 : -1);
  } else if (event.key === "g") {
    going = true;
    setTimeout(() => (going = false), 1200);
  } else if (performance.now() - drawn < QUIET) {
    return;
  } else if (event.key === "p") {
    document.querySelector("[data-previous]")?.click();
  } else if (/^[aexr]$/.test(event.key)) {
    const control = document.querySelector(`[data-key="${event.key}"]`);
    if (control) {
      event.preventDefault();
      press(control);
    }
  }
});

// A press that was meant for the card before must not decide the one that has just taken its place.
document.addEventListener("pointerdown", () => (pressed = performance.now()), true);

document.addEventListener(
  "click",
  (event) => {
    if (!event.target.closest?.("#verdict [data-approve]")) return;
    const early = performance.now() - swapped < QUIET;
    const meant = event.detail > 0 && pressed < swapped;
    if (!early && !meant) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);

document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest?.(".armed")) disarm();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) {
    event.preventDefault();
    event.target.closest("details")?.removeAttribute("open");
    document.getElementById("keys")?.showModal();
  }
  const close = event.target.closest("[data-close]");
  if (close) {
    const panel = close.closest("details");
    panel.open = false;
    panel.querySelector("summary").focus();
  }
});

document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail.ctx?.target?.id !== "detail") return;
  drawn = swapped = performance.now();
});
document.addEventListener("lc:drawn", () => (drawn = performance.now()));
