// Shows one of the pages that a list links to, chosen by model and box. The address has both, and the state that the page tells of:
// #gpt2/h100_box/1;heft+planned;… Works from files: the frame is told its state by its address, and tells of changes by messages.
{
  const script = document.currentScript;
  const root = script.previousElementSibling;
  const pages = [...root.querySelectorAll("a")].map(({ href, dataset }) => ({ href, ...dataset }));
  const frame = Object.assign(document.createElement("iframe"), { title: "A schedule that recomputes" });
  frame.style.height = `${script.dataset.height}px`;
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
  row.append(modelLabel, " ", boxLabel, " ", copy, " ", link);
  root.replaceChildren(row, frame);

  const options = (select, titles) =>
    select.replaceChildren(...[...new Map(titles)].map(([value, title]) => new Option(title, value)));
  const boxesOf = (name) => pages.filter((page) => page.model === name).map((page) => [page.box, page.boxTitle]);
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
    frame.src = `${pages.find((page) => page.model === model.value && page.box === box.value).href}#${state}`;
    tell();
  };
  const heed = () => {
    if (location.hash === told) return;
    const [wanted, where, ...rest] = location.hash.slice(1).split("/");
    const known = pages.find((page) => page.model === wanted && page.box === where);
    const chosen = known ?? pages[0];
    model.value = chosen.model;
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
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data?.placelab !== "string") return;
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
