// Keeps ages, countdowns and open bars moving once a second, by the server's clock.
const root = document.documentElement;
const drift = Number(root.dataset.now) - Date.now();
const now = () => Date.now() + drift;
const units = [
  [86400000, root.dataset.days],
  [3600000, root.dataset.hours],
  [60000, root.dataset.minutes],
  [1000, root.dataset.seconds],
];

function span(length) {
  const [size, words] = units.find(([size]) => length >= size) ?? units[3];
  return words.replace("%(count)s", Math.floor(Math.max(0, length) / size));
}

function clock(left) {
  const seconds = Math.max(0, Math.floor(left / 1000));
  if (seconds >= 3600) return span(left);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function tick() {
  if (document.hidden) return;
  const at = now();
  for (const element of document.querySelectorAll("[data-age]")) write(element, span(at - Number(element.dataset.age)));
  for (const element of document.querySelectorAll("[data-until]")) {
    if (!element.matches("time")) continue;
    const left = Number(element.dataset.until) - at;
    write(element, clock(left));
    element.classList.toggle("soon", left > 0 && left < 120000);
    element.classList.toggle("over", left <= 0);
  }
}

tick();
setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
document.addEventListener("htmx:after:swap", tick);
