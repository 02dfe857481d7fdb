// The decision card: approve waits until every long value was shown; digests can be copied.
function unread(card) {
  return [...card.querySelectorAll(".runs .fold.long, .runs + .diff .fold.long")].filter(
    (fold) => !fold.querySelector("[data-unfold]").checked,
  );
}

function check() {
  const card = document.getElementById("card");
  const approve = card?.querySelector("[data-verdict] [data-approve]");
  const notice = card?.querySelector("[data-unread]");
  if (!approve || !notice) return;
  const left = unread(card).length;
  approve.disabled = left > 0;
  const words = left === 1 ? notice.dataset.one : notice.dataset.many.replace("%(count)s", left);
  notice.textContent = left ? words : "";
}

document.addEventListener("change", (event) => {
  if (!event.target.matches?.("[data-unfold]")) return;
  event.target.closest(".fold").querySelector("pre").focus({ preventScroll: true });
  check();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const said = button.lastChild;
  const before = said.textContent;
  said.textContent = button.dataset.copied;
  button.classList.add("copied");
  setTimeout(() => {
    said.textContent = before;
    button.classList.remove("copied");
  }, 1500);
});

document.addEventListener("htmx:after:swap", check);
check();
