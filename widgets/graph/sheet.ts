/** What Python has sent, and the drawing that it makes: colours of boxes, widths of edges, pins. */
import { SI, type Units } from "../shared/format.ts";
import { deviceColour } from "../shared/palette.ts";
import type { Theme } from "../shared/theme.ts";
import { COLOURS, type Legend, legendOf, partsOf } from "./colours.ts";
import type { Drawing } from "./draw.ts";
import { widths } from "./edges.ts";
import { type Paint, paintOf } from "./paint.ts";
import { type Picture, pictureOf } from "./picture.ts";
import { SEVERAL, type Sums, sumsOf, type Values } from "./values.ts";

export interface Labels {
  readonly devices: string[];
  readonly kinds: Uint8Array;
  readonly kindNames: string[];
  /** How times and sizes are written. */
  readonly units: Units;
}

export type Coloured = Pick<Drawing, "paint" | "parts" | "drawn" | "width" | "pins">;

const MANY = 800; // edges; of more, those with most bytes are drawn, and all of a box in focus

export class Sheet {
  picture: Picture = pictureOf({}, new Int32Array());
  values: Values | null = null;
  labels: Labels = { devices: [], kinds: new Uint8Array(), kindNames: [], units: SI };
  pinned: ArrayLike<number> = [];
  colour: (typeof COLOURS)[number] = "device";
  paint: Paint | null = null;
  #added: Sums | null = null;
  #made: Coloured | null = null;

  /** What the ops of each box add up to. */
  get sums(): Sums {
    const { kinds, kindNames } = this.labels;
    this.#added ??= sumsOf(this.picture, this.values, kinds, this.pinned, kindNames.length);
    return this.#added;
  }

  get legend(): Legend[] {
    const { devices, kindNames } = this.labels;
    return legendOf(
      this.sums,
      this.colour,
      this.paint?.theme.critical ?? "",
      devices,
      kindNames,
      this.paint?.theme.dark,
    );
  }

  get nPinned(): number {
    return Array.prototype.reduce.call(this.pinned, (n, to) => (n as number) + Number(to >= 0), 0) as number;
  }

  setTheme(theme: Theme): void {
    this.paint = paintOf(theme);
    this.#made = null;
  }

  setColour(name: string): void {
    this.colour = COLOURS.find((known) => known === name) ?? "device";
    this.#made = null;
  }

  /** Something but theme and colour has changed: all is made anew when it is asked for. */
  change(what: Partial<Pick<Sheet, "picture" | "values" | "labels" | "pinned">>): void {
    Object.assign(this, what);
    this.#added = this.#made = null;
  }

  /** Colours of boxes, widths of edges, pins; null before there is a theme. */
  coloured(): Coloured | null {
    this.#made ??= this.paint && this.#make(this.paint);
    return this.#made;
  }

  #make(paint: Paint): Coloured {
    const { picture, sums } = this;
    const { critical, surface, dark } = paint.theme;
    const most = picture.boxes.reduce((most, box, i) => (box.open ? most : Math.max(most, sums.time[i]!)), 0);
    const wide = widths(picture.edges.map((edge) => edge.bytes));
    const pinColour = (to: number) => (to < 0 ? "" : to === SEVERAL ? surface : deviceColour(to, dark));
    return {
      paint,
      parts: picture.boxes.map((_, i) => partsOf(sums, i, this.colour, critical, most, dark)),
      drawn: picture.edges
        .map((_, i) => i)
        .sort((a, b) => picture.edges[b]!.bytes - picture.edges[a]!.bytes)
        .slice(0, MANY),
      width: picture.edges.map((edge) => wide(edge.bytes)),
      pins: picture.boxes.map((box, i) => (box.open ? "" : pinColour(sums.pinnedTo[i]!))),
    };
  }
}
