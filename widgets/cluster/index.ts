/** The cluster canvas: devices, hosts and links to drag and edit. */
import { COMPUTED, type Computed, EDITED, type Edited, Waiting } from "../shared/alone.ts";
import { publish, subscribe } from "../shared/bus.ts";
import type { Edit } from "../shared/commands.ts";
import { h, listen, style, write } from "../shared/dom.ts";
import { type Model, overlaid, type Render } from "../shared/model.ts";
import { readTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { boxOf } from "../shared/zoom.ts";
import { type Adjust, adjust } from "./adjust.ts";
import { type Diagram, diagram } from "./diagram.ts";
import { type Editor, editor } from "./editor.ts";
import { entry } from "./entry.ts";
import { DENSE, fittingScene, gridScene, LARGE, type Scene, SNUG, TIGHT } from "./geometry.ts";
import { type Matrix, matrix } from "./matrix.ts";
import { roomIn } from "./room.ts";
import { ruler } from "./ruler.ts";
import { sharesOf } from "./shares.ts";
import { type Activity, type Cluster, drawing, fromWire, hostsOf, nextHost, REST, structure } from "./state.ts";
import { type Strip, strip } from "./strip.ts";
import css from "./style.css";
import { memoryOf } from "./targets.ts";
import { type Action, toolbar } from "./toolbar.ts";
import type { ClusterTraits, Curve } from "./traits.ts";

const HINT = "Pull a value ← →"; // whole where the page is narrow
const HINTS = `${HINT} to change it, Enter to type it. Drag a device into another host, or out of its own.`;
const SIDE_BY_SIDE = 900; // pixels from which cards and matrix stand beside each other
const CLOSE = 480; // the same in a larger view, which gives little height
const MANY = 24; // devices beyond which a drawing with links is unreadable

class Canvas {
  readonly root = h("div.placelab.cluster", {
    tabindex: -1,
    "data-lm-suppress-shortcuts": "true",
    role: "region",
    "aria-label": "cluster",
  });
  readonly #model: Model<ClusterTraits>;
  readonly #editor: Editor;
  readonly #adjust: Adjust;
  readonly #body = h("div.body");
  readonly #entry = entry(this.root, () => roomIn(this.root, this.#body));
  readonly #diagram: Diagram;
  readonly #matrix: Matrix;
  readonly #strip: Strip;
  readonly #toolbar = toolbar((action) => this.#act(action));
  readonly #error = h("div.error", { role: "alert" });
  readonly #status = h("div.status", { role: "status", "aria-live": "polite" });
  readonly #stop: (() => void)[] = [];
  #scene!: Scene;
  #redrawRuler = () => {};
  #frame = 0;
  #rebuild = true;
  #built = ""; // structure that the elements belong to
  #focus: string | null = null; // key of what gets the focus after the next rebuild

  constructor(model: Model<ClusterTraits>) {
    this.#model = model;
    this.#editor = editor(
      model,
      (rebuild) => this.#later(rebuild),
      () => this.#tellEdit(),
    );
    const curve = () => {
      const known = model.get("curve");
      if (!("values" in known)) return null;
      return (known.gesture ?? this.#editor.gesture) === this.#editor.gesture ? (known as Curve) : null;
    };
    const scale = ruler(this.root, () => roomIn(this.root, this.#body), curve);
    this.#redrawRuler = () => scale.refresh();
    this.#adjust = adjust(this.#editor, scale, this.#entry);
    const say = (text: string) => this.#say(text);
    this.#diagram = diagram(this.#adjust, say);
    this.#matrix = matrix(this.#adjust, say);
    this.#strip = strip(this.#adjust, (share) => {
      this.#diagram.point(share);
      this.#matrix.fade(share?.link.pairs ?? null);
    });
    this.root.classList.toggle("embedded", model.get("embedded"));
    this.root.classList.toggle("values-only", model.get("values_only"));
    this.root.append(
      style(THEME_CSS, css),
      this.#toolbar.element,
      this.#error,
      this.#body,
      this.#strip.element,
      this.#status,
      this.#entry.element,
      scale.element,
    );
    this.#listen();
    this.#say("");
  }

  /** Ends all that would outlive the view. */
  close(): void {
    for (const stop of this.#stop) stop();
    cancelAnimationFrame(this.#frame);
  }

  /** Tells the other views of edits that Python does not answer for a while, and when it has answered the last of them. */
  #awaitAnswers(on: (event: string, then: () => void) => void): void {
    const waiting = new Waiting(this.root);
    on("change:edit", () => waiting.asked());
    on("change:ack", () => this.#editor.answered && waiting.answered()); // before that it is behind what the page shows
    this.#stop.push(() => waiting.end());
  }

  #tellEdit(): void {
    const answered = () => fromWire(this.#model.get("cluster"));
    publish(this.root, EDITED, { now: this.#editor.cluster, answered } satisfies Edited<Cluster>);
  }

  #listen(): void {
    const on = (event: string, then: () => void) => {
      this.#model.on(event, then);
      this.#stop.push(() => this.#model.off(event, then));
    };
    this.#stop.push(subscribe<Activity>(this.root, "activity", (activity) => this.#light(activity)));
    on("change:ack", () => this.#editor.acknowledged());
    this.#awaitAnswers(on);
    on("change:cluster", () => this.#editor.refresh());
    this.#hearOthers(on);
    on("change:curve", () => this.#redrawRuler());
    for (const trait of ["selected", "fixed", "sharing"]) on(`change:${trait}`, () => this.#later(true));
    for (const trait of ["peak", "load", "error", "can_undo", "can_redo"])
      on(`change:${trait}`, () => this.#later(false));
    this.#stop.push(watchTheme(() => this.#later(true)));
    let size = "";
    const observer = new ResizeObserver(() => {
      const now = `${this.root.clientWidth} ${this.#height}`;
      if (now !== size) this.#later(true);
      size = now;
    });
    observer.observe(this.root);
    this.#stop.push(() => observer.disconnect());
    listen(this.root, "keydown", (event) => this.#key(event));
    listen(this.#body, "dblclick", (event) => {
      const title = (event.target as Element).closest<SVGElement>(".host-name");
      if (title) this.#renameHost(title);
    });
    listen(this.#body, "pointerdown", (event) => event.target === this.#diagram.svg && this.#editor.select(-1));
  }

  #light(activity: Activity): void {
    if (structure(this.#editor.cluster) !== this.#built) return; // not shown yet
    this.#diagram.light(activity);
    if (drawing(this.#editor.cluster) === "grid") this.#matrix.light(activity.links);
  }

  /** Clears the message when another cluster arrives than the answer to an edit of this view. */
  #hearOthers(on: (event: string, then: () => void) => void): void {
    let answered = false;
    on("change:ack", () => {
      answered = true;
      setTimeout(() => (answered = false)); // other traits of the same message arrive at once, in any order
    });
    on("change:cluster", () => queueMicrotask(() => (answered ? undefined : this.#say(""))));
  }

  /** Draws once in the next frame, however many changes ask for it. */
  #later(rebuild: boolean): void {
    this.#rebuild ||= rebuild;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#rebuild && (!this.#editor.dragging || structure(this.#editor.cluster) !== this.#built)) this.#build();
      this.#update();
    });
  }

  #build(): void {
    const width = this.root.clientWidth;
    if (!width) return this.#built ? this.#later(true) : undefined; // a change of theme hides the page for a moment; before, the observer asks
    this.#rebuild = false;
    this.#built = structure(this.#editor.cluster);
    const theme = readTheme(this.root);
    const { cluster } = this.#editor;
    const focused = this.#focus ?? this.root.querySelector<HTMLElement>(":focus")?.dataset.key ?? null;
    this.#focus = null;
    if (focused) this.root.focus({ preventScroll: true }); // never to the page meanwhile: a notebook would take it for its cells
    const graph = drawing(cluster) === "graph";
    const beside = width >= (this.#model.get("embedded") ? CLOSE : SIDE_BY_SIDE);
    const shares = sharesOf(cluster);
    const snug = shares.length ? TIGHT : SNUG;
    const choices = [...(this.#model.get("embedded") ? [] : [LARGE]), snug, DENSE];
    this.#scene = graph
      ? fittingScene(cluster, choices, this.#body.clientWidth || width, this.#height)
      : gridScene(cluster, (beside ? width / 2 : width) - 36);
    this.#diagram.build(this.#scene, !graph, this.#model.get("selected"), shares);
    this.#strip.build(shares);
    this.#body.className = graph ? "body" : `body grid${beside ? " beside" : ""}`;
    this.#body.replaceChildren(h("div.frame", {}, this.#diagram.svg), ...(graph ? [] : [this.#matrix.element]));
    this.#matrix.light(REST.links);
    if (!graph)
      this.#matrix.build(beside ? width / 2 - 8 : Math.min(width, 520), beside ? this.#height : Infinity, theme);
    if (focused)
      this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  /** The height there is; no limit where the canvas is as high as its drawing. */
  get #height(): number {
    return getComputedStyle(this.#body).overflowY === "visible" ? Infinity : this.#body.clientHeight;
  }

  #update(): void {
    const { cluster } = this.#editor;
    const chosen = this.#chosen >= 0;
    const enabled = {
      copy: chosen,
      remove: chosen,
      undo: this.#model.get("can_undo"),
      redo: this.#model.get("can_redo"),
      graph: cluster.devices.length <= MANY,
    };
    this.#toolbar.update(enabled, drawing(cluster));
    write(this.#error, this.#model.get("error"));
    if (structure(cluster) !== this.#built) return; // not shown yet
    this.#diagram.update();
    this.#strip.update();
    if (drawing(cluster) === "grid") this.#matrix.update();
  }

  /** The selected device, -1 when there is none. */
  get #chosen(): number {
    const selected = this.#model.get("selected");
    return selected < this.#editor.cluster.devices.length ? selected : -1;
  }

  #say(text: string): void {
    this.#status.textContent = text || HINT;
    this.#status.title = text || (this.#still ? HINT : HINTS);
  }

  #act(action: Action): void {
    const { cluster } = this.#editor;
    const device = this.#chosen;
    const count = cluster.devices.length;
    switch (action) {
      case "add": {
        const host = device >= 0 ? cluster.devices[device]!.host : hostsOf(cluster).at(-1)!.name;
        this.#focus = `card:${count}`;
        this.#say(`a device added to ${host}`);
        return this.#editor.do({ kind: "add", host });
      }
      case "host":
        this.#focus = `card:${count}`;
        this.#say("a device added on a host of its own");
        return this.#editor.do({ kind: "add", host: null });
      case "copy":
        return device >= 0 ? this.#copy(device) : undefined;
      case "remove":
        return device >= 0 ? this.#remove(device) : undefined;
      case "undo":
      case "redo":
        this.#say(action === "undo" ? "undone" : "done again");
        return this.#editor.do({ kind: action });
      default:
        return this.#editor.do({ kind: "view", view: action });
    }
  }

  /** Whether devices and hosts stay as they are. */
  get #still(): boolean {
    return this.#model.get("values_only");
  }

  #copy(device: number): void {
    if (this.#still) return;
    const { devices } = this.#editor.cluster;
    this.#focus = `card:${devices.length}`;
    this.#say(`${devices[device]!.name} copied`);
    this.#editor.do({ kind: "copy", device });
  }

  #remove(device: number): void {
    if (this.#still) return;
    const { devices } = this.#editor.cluster;
    this.#focus = `card:${Math.min(device, devices.length - 2)}`;
    if (devices.length > 1) this.#say(`${devices[device]!.name} removed`);
    if (this.#chosen >= 0 && devices.length > 1) this.#editor.select(-1);
    this.#editor.do({ kind: "remove", device });
  }

  #key(event: KeyboardEvent): void {
    event.stopPropagation(); // a notebook's shortcuts are matched on the focused element itself, before its ancestors can suppress them
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const on = (event.target as HTMLElement).closest<SVGElement>(".card");
    const title = (event.target as HTMLElement).closest<SVGElement>(".host-name");
    const device = on ? Number(on.dataset.device) : this.#chosen;
    if (control && key === "z") this.#act(event.shiftKey ? "redo" : "undo");
    else if (control && key === "y") this.#act("redo");
    else if (control && key === "d" && device >= 0) this.#copy(device);
    else if (event.key === "Escape" && this.#chosen >= 0) this.#editor.select(-1);
    else if (event.key === "Delete" && device >= 0) this.#remove(device);
    else if (title && (key === "f2" || key === "enter")) this.#renameHost(title);
    else if (!control && on && event.target === on && this.#cardKey(event, device, on)) void 0;
    else return;
    event.preventDefault();
  }

  /** Keys of a focused card; whether it was one. */
  #cardKey(event: KeyboardEvent, device: number, element: SVGElement): boolean {
    const { cluster } = this.#editor;
    const box = this.#scene.boxes.find((b) => b.members.includes(device));
    if (!box) return false;
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -box.columns,
      ArrowDown: box.columns,
    };
    const slot = box.members.indexOf(device) + (steps[event.key] ?? 0);
    if (this.#still && (steps[event.key] || event.key === "h")) return true;
    if (steps[event.key]) {
      if (slot < 0 || slot >= box.members.length) return true;
      this.#say(`place ${slot + 1} of ${box.members.length} in ${box.host}`);
      this.#editor.do({ kind: "move", device, slot });
    } else if (event.key === "h") {
      const host = nextHost(cluster, device);
      this.#say(`${cluster.devices[device]!.name} moved to ${host ?? "a host of its own"}`);
      this.#editor.do({ kind: "host", device, host });
    } else if (event.key === "m") this.#adjust.type(memoryOf(device, cluster.devices[device]!.name), element);
    else if (event.key === "F2")
      this.#rename(element, cluster.devices[device]!.name, (name) => ({ kind: "rename", device, name }));
    else if (event.key === "Enter" || event.key === " ") this.#editor.select(this.#chosen === device ? -1 : device);
    else return false;
    return true;
  }

  #rename(element: SVGElement, name: string, renamed: (name: string) => Edit): void {
    if (this.#still) return;
    this.#entry.open(boxOf(element), name, `name of ${name}`, element, (typed) => {
      if (!typed.trim()) return "It needs a name.";
      if (element.dataset.host) this.#focus = `host:${typed.trim()}`;
      this.#editor.do(renamed(typed));
      return null;
    });
  }

  #renameHost(element: SVGElement): void {
    const host = element.dataset.host!;
    this.#rename(element, host, (name) => ({ kind: "rename_host", host, name }));
  }
}

const render: Render<ClusterTraits> = ({ model, el }) => {
  const { model: shown, put } = overlaid(model);
  const canvas = new Canvas(shown);
  const stop = subscribe<Computed | null>(el, COMPUTED, (now) => put(now ? { peak: [...now.peak], load: [] } : {}));
  el.append(canvas.root);
  return () => {
    stop();
    canvas.close();
  };
};

export default { render };
