// The live odds page: Threedice runs in this browser, by Pyodide, and nothing is sent anywhere.

const here = new URL(".", import.meta.url);
const status = document.getElementById("live-status");
const choice = document.getElementById("live-game");
const stake = document.getElementById("live-stake");
const felt = document.getElementById("live-felt");
const result = document.getElementById("live-sheet");
const stakes = new Map();
let pyodide;
let python;

async function start() {
  const { loadPyodide } = await import(new URL("pyodide.mjs", here));
  pyodide = await loadPyodide({ indexURL: here.href });
  const packages = await (await fetch(new URL("packages.json", here))).json();
  await pyodide.loadPackage(packages.map((name) => new URL(name, here).href), { messageCallback: () => {} });
  pyodide.FS.writeFile("live_odds.py", await (await fetch(new URL("live_odds.py", here))).text());
  python = pyodide.pyimport("live_odds");
  for (const [name, title] of python.games().toJs()) {
    choice.add(new Option(`${title} (${name})`, name));
  }
  const asked = new URLSearchParams(location.search).get("game");
  if ([...choice.options].some((each) => each.value === asked)) choice.value = asked;
  choice.disabled = stake.disabled = false;
  choice.addEventListener("change", drawFelt);
  drawFelt();
}

function drawFelt() {
  stakes.clear();
  felt.innerHTML = python.felt(choice.value);
  const decided = new Set(python.boxes(choice.value).toJs());
  for (const area of areas()) {
    if (!decided.has(area.dataset.box)) continue;
    area.setAttribute("role", "button");
    area.setAttribute("tabindex", "0");
    area.setAttribute("aria-label", area.dataset.box);
    area.addEventListener("click", () => toggle(area.dataset.box));
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle(area.dataset.box);
      }
    });
  }
  show();
}

function toggle(box) {
  const amount = Math.floor(Number(stake.value));
  if (stakes.has(box)) stakes.delete(box);
  else if (amount >= 1) stakes.set(box, amount);
  else stake.reportValidity();
  show();
}

function show() {
  for (const area of areas().filter((each) => each.hasAttribute("role"))) {
    area.setAttribute("aria-pressed", String(stakes.has(area.dataset.box)));
  }
  status.textContent = stakes.size
    ? `Boxes staked: ${stakes.size}; pick a box again to remove it.`
    : "Pick boxes on the felt.";
  if (!stakes.size) {
    result.replaceChildren();
    return;
  }
  result.innerHTML = python.sheet(choice.value, pyodide.toPy(stakes));
}

function areas() {
  return [...felt.querySelectorAll("[data-box]")];
}

start().catch((error) => {
  status.textContent = `Python could not be started in this browser: ${error.message}`;
  throw error;
});
