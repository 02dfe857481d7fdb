// The list beside the card: which row is open, and no row that moves away under the pointer.
function select() {
  const detail = document.getElementById("detail");
  if (!detail) return;
  const wanted = detail.dataset.selected;
  for (const row of document.querySelectorAll(".entry")) {
    if (wanted && row.parentElement.id === wanted) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  document.querySelector(".panes")?.classList.toggle("opened", Boolean(wanted));
  if (!detail.dataset.paneTitle) return;
  document.title = document.title.replace(/^.*(?= · [^·]+$)/, detail.dataset.paneTitle);
}

const held = new Set();

document.addEventListener("htmx:before:request", (event) => {
  const list = event.target.closest?.("[data-hold-under-pointer]");
  if (!list || list !== event.target || !list.matches(":hover") || matchMedia("(hover: none)").matches) return;
  event.preventDefault();
  held.add(list);
});

document.addEventListener("pointerout", (event) => {
  for (const list of held) {
    if (list.contains(event.relatedTarget)) continue;
    held.delete(list);
    if (list.isConnected) list.dispatchEvent(new CustomEvent("lc:released"));
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches?.("[data-submit-on-change]")) event.target.form.requestSubmit();
});

// One open menu at a time, closed by a press beside it.
document.addEventListener("pointerdown", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// A form that comes back keeps its place, or shows what is wrong with it.
let place = null;

document.addEventListener("htmx:before:request", (event) => {
  const detail = event.detail.ctx?.target;
  if (detail?.id === "detail") place = { selected: detail.dataset.selected, top: detail.scrollTop };
});

function stay() {
  const detail = document.getElementById("detail");
  if (!detail || !place) return;
  const problem = detail.querySelector(".problem");
  if (problem) problem.scrollIntoView({ block: "center" });
  else if (place.selected && place.selected === detail.dataset.selected) detail.scrollTop = place.top;
  place = null;
}

document.addEventListener("htmx:after:swap", () => {
  select();
  stay();
});
select();
