// Shows one of the puzzles that a list links to, and keeps the best stars of each in this browser; nothing is sent. The address has the
// puzzle and its plan: #diamond/2;by%20hand+planned;hand=0.1,2.3. Works from files, as playground.js does.
{
  const script = document.currentScript;
  const root = script.previousElementSibling;
  const puzzles = [...root.querySelectorAll("a")].map(({ href, dataset }) => ({ href, ...dataset }));
  const KEPT = "placelab-stars";
  const MOST = 3;
  const frame = Object.assign(document.createElement("iframe"), { title: "A puzzle", className: "plays" });
  frame.style.setProperty("--height", `${script.dataset.height}px`);
  let best = {}; // of each puzzle: stars, and the shortest makespan
  try {
    best = JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    // a browser that keeps nothing, or what is kept is no record of stars
  }
  const keep = () => {
    try {
      localStorage.setItem(KEPT, JSON.stringify(best));
    } catch {
      // then the stars last as long as the page
    }
  };
  const list = document.createElement("div");
  list.className = "list";
  const rows = puzzles.map(({ name, par }) => {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.dataset.name = name;
    const [what, stars, yours] = ["strong", "span", "small"].map((tag) => document.createElement(tag));
    what.textContent = name;
    button.append(what, stars, yours);
    button.addEventListener("click", () => choose(name, ""));
    list.append(button);
    return () => {
      const { stars: earned = 0, makespan } = best[name] ?? {};
      stars.textContent = "★".repeat(earned) + "☆".repeat(MOST - earned);
      stars.setAttribute("aria-label", `${earned} of ${MOST} stars`);
      yours.textContent = `par ${par} · ${makespan === undefined ? "not tried" : `yours ${makespan}`}`;
      button.setAttribute("aria-current", String(name === chosen));
    };
  });
  const sum = document.createElement("output");
  const clear = Object.assign(document.createElement("button"), { type: "button", textContent: "Clear stars" });
  clear.addEventListener("click", () => {
    best = {};
    keep();
    draw();
  });
  const row = document.createElement("p");
  row.append(sum, " ", clear);
  const side = document.createElement("div");
  side.append(row, list);
  root.replaceChildren(side, frame);
  let chosen = puzzles[0].name;
  let told = null;

  const draw = () => {
    for (const each of rows) each();
    const all = puzzles.reduce((total, { name }) => total + (best[name]?.stars ?? 0), 0);
    sum.textContent = `${all} of ${MOST * puzzles.length} stars`;
  };
  const tell = (state) => {
    told = `#${encodeURIComponent(chosen)}/${state}`;
    try {
      history.replaceState(null, "", told);
    } catch {
      location.replace(told);
    }
  };
  const choose = (name, state) => {
    chosen = name;
    frame.src = `${puzzles.find((puzzle) => puzzle.name === name).href}#${state}`;
    tell(state);
    draw();
  };
  const heed = () => {
    if (location.hash === told) return;
    const [name, ...rest] = location.hash.slice(1).split("/");
    const known = puzzles.find((puzzle) => encodeURIComponent(puzzle.name) === name);
    choose((known ?? puzzles[0]).name, known ? rest.join("/") : "");
  };
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data?.placelab !== "string") return;
    tell(data.placelab.slice(1));
    const { stars, makespan } = data;
    const before = best[chosen] ?? { stars: -1, makespan: Infinity };
    // the plan that a puzzle begins with is nobody's: it has no address
    if (!(stars > 0) || data.placelab === "#" || stars < before.stars || makespan >= before.makespan) return;
    best[chosen] = { stars, makespan };
    keep();
    draw();
  });
  addEventListener("hashchange", heed);
  heed();
}
