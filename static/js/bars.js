// Lays the bars of a timeline out in the time that it covers, and lets the open ones grow.
const root = document.documentElement;
const drift = Number(root.dataset.now) - Date.now();
const WIDTH = 1000;
const LEAST = 4;

function lay() {
  const lines = [...document.querySelectorAll(".timeline > li")];
  if (!lines.length || document.hidden) return;
  const now = Date.now() + drift;
  const spans = lines.map((line) => [Number(line.dataset.from), line.dataset.to ? Number(line.dataset.to) : now]);
  const first = Math.min(...spans.map(([from]) => from));
  const whole = Math.max(1, Math.max(...spans.map(([, to]) => to)) - first);
  lines.forEach((line, number) => {
    const [from, to] = spans[number];
    const start = Math.min(WIDTH - LEAST, ((from - first) / whole) * WIDTH);
    const bar = line.querySelector(".bar rect:last-child");
    bar.setAttribute("x", start);
    bar.setAttribute("width", Math.max(LEAST, Math.min(WIDTH - start, ((to - from) / whole) * WIDTH)));
  });
}

const open = () => document.querySelector('.timeline > li[data-to=""]');
setInterval(() => open() && lay(), 1000);
document.addEventListener("lc:rows", lay);
document.addEventListener("htmx:after:swap", lay);
lay();
