// Shows one of the pages that a list links to, chosen by model and box. The address has both, and the state that the page tells of:
// #gpt2/h100_box/2;heft+planned;… A graph of the reader's own goes to a page of the chosen box, and nowhere else. Works from files: the frame is told its state by its address, and tells of changes by messages.
{
  const script = document.currentScript;
  const root = script.previousElementSibling;
  const pages = [...root.querySelectorAll("a")].map(({ href, dataset }) => ({ href, ...dataset }));
  const frame = Object.assign(document.createElement("iframe"), { title: "A schedule that recomputes", className: "live" });
  frame.style.setProperty("--height", `${script.dataset.height}px`);
  const menu = (label) => {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    const name = document.createElement("label");
    name.append(`${label} `, select);
    return [name, select];
  };
  const [modelLabel, model] = menu("Model");
  const [boxLabel, box] = menu("Box");
  const link = Object.assign(document.createElement("input"), { readOnly: true });
  link.setAttribute("aria-label", "Link to this state");
  const copy = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy link" });
  const row = document.createElement("p");
  const file = Object.assign(document.createElement("input"), { type: "file", accept: ".json,.gz" });
  const fileLabel = document.createElement("label");
  fileLabel.append("Your file ", file);
  const said = document.createElement("output");
  const python = document.createElement("code");
  row.append(modelLabel, " ", boxLabel, " ", fileLabel, " ", copy, " ", link, " ", said);
  const code = document.createElement("p");
  code.append(python);
  root.replaceChildren(row, frame, code);

  const options = (select, titles) =>
    select.replaceChildren(...[...new Map(titles)].map(([value, title]) => new Option(title, value)));
  const boxesOf = (name) =>
    pages.filter((page) => page.model === (name === FILE ? MODEL : name)).map((page) => [page.box, page.boxTitle]);
  const FILE = "file";
  const MODEL = pages.at(-1).model; // whose pages lend their boxes
  let graph = null; // the text of the reader's file
  let awaited = null; // what a link has of a file that is not there yet
  let loads = 0;
  let state = ""; // of the page in the frame, as its address has it after the "#"
  let told = null; // the address as this script has written it last

  const tell = () => {
    told = `#${model.value}/${box.value}/${state}`;
    try {
      history.replaceState(null, "", told);
    } catch {
      location.replace(told); // a page from a file may not do the former in older browsers
    }
    link.value = location.href;
  };
  const show = () => {
    const own = model.value === FILE;
    const { href, python: text } = pages.find((page) => page.model === (own ? MODEL : model.value) && page.box === box.value);
    loads += 1; // a page that is asked for with another number is loaded anew, whatever it shows
    frame.src = `${href}${own ? `?${loads}` : ""}#${own ? FILE : state}`;
    const called = JSON.stringify(file.files[0]?.name ?? "");
    python.textContent = `schedule = ${own ? text.replace(/"[^"]*"/, () => called) : text}`;
    tell();
  };
  const heed = () => {
    if (location.hash === told) return;
    const [wanted, where, ...rest] = location.hash.slice(1).split("/");
    const own = wanted === FILE && graph !== null;
    awaited = wanted === FILE && !own ? { where, state: rest.join("/") } : null;
    said.textContent = awaited ? "This link is of a file that it does not have: choose it." : "";
    const known = pages.find((page) => page.model === (own ? MODEL : wanted) && page.box === where);
    const chosen = known ?? pages[0];
    model.value = known && own ? FILE : chosen.model;
    options(box, boxesOf(chosen.model));
    box.value = chosen.box;
    state = known ? rest.join("/") : "";
    show();
  };

  options(
    model,
    pages.map((page) => [page.model, page.modelTitle]),
  );
  model.addEventListener("change", () => {
    const before = box.value;
    options(box, boxesOf(model.value));
    if (boxesOf(model.value).some(([value]) => value === before)) box.value = before;
    state = "";
    show();
  });
  box.addEventListener("change", () => {
    state = "";
    show();
  });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const packed = chosen.name.endsWith(".gz");
    const stream = packed ? chosen.stream().pipeThrough(new DecompressionStream("gzip")) : chosen.stream();
    try {
      graph = await new Response(stream).text();
    } catch {
      said.textContent = `${chosen.name} cannot be unpacked: expected a gzip file.`;
      return;
    }
    const before = awaited?.where ?? box.value;
    state = awaited?.state ?? "";
    awaited = null;
    said.textContent = "";
    [...model.options].find(({ value }) => value === FILE)?.remove();
    model.add(new Option(`your file: ${chosen.name}`, FILE));
    model.value = FILE;
    options(box, boxesOf(FILE));
    if (boxesOf(FILE).some(([value]) => value === before)) box.value = before;
    show();
  });
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data?.placelab !== "string") return;
    if (data.placelab === `#${FILE}`) return frame.contentWindow.postMessage({ graph, state }, "*");
    state = data.placelab.slice(1);
    tell();
  });
  copy.addEventListener("click", () => {
    link.select();
    navigator.clipboard?.writeText(link.value).catch(() => {});
  });
  addEventListener("hashchange", heed);
  heed();
}
