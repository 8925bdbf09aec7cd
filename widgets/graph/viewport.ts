/** The part of the picture that is in view, and how it moves there. */
import { reducedMotion } from "../shared/theme.ts";
import { between, bounded, type Camera, fit, isWhole, panned, type Size, showing, whole, zoomAt } from "./camera.ts";
import type { Box } from "./traits.ts";

const GLIDE = 0.22; // seconds of a move
const CLOSE = 0.85; // least zoom at which a single box is shown

const areaOf = ({ x, y, w, h }: Box) => ({ x, y, width: w, height: h });

export class Viewport {
  camera: Camera = { x: 0, y: 0, zoom: 1 };
  /** Whether all is in view, which then stays so when picture or size change. */
  isWhole = true;
  #glide: { from: Camera; to: Camera; share: number } | null = null;
  readonly #picture: () => Size;
  readonly #size: () => Size;
  readonly #moved: (to: Camera) => void;

  constructor(picture: () => Size, size: () => Size, moved: (to: Camera) => void) {
    this.#picture = picture;
    this.#size = size;
    this.#moved = moved;
  }

  get gliding(): boolean {
    return this.#glide !== null;
  }

  /** Goes on with a move; returns whether there was one. */
  step(elapsed: number): boolean {
    const glide = this.#glide;
    if (!glide) return false;
    glide.share = Math.min(1, glide.share + elapsed / GLIDE);
    this.camera = between(glide.from, glide.to, 1 - (1 - glide.share) ** 3);
    if (glide.share === 1) this.#glide = null;
    return true;
  }

  resize(): void {
    this.#set(this.isWhole ? whole(this.#picture(), this.#size()) : this.camera);
  }

  all(smooth = true): void {
    const to = whole(this.#picture(), this.#size());
    if (smooth) this.#go(to);
    else this.#set(to);
  }

  /** Zooms to a box: what is open fills the view, what is small is large enough to read. */
  closeUp(box: Box | undefined): void {
    if (!box) return;
    if (box.open) return this.#go(fit(areaOf(box), this.#size()));
    this.#go(this.#around(box.x + box.w / 2, box.y + box.h / 2, Math.max(this.camera.zoom, CLOSE)));
  }

  /** Moves, if need be, so that a box is in view. */
  bring(box: Box): void {
    if (!this.isWhole) this.#go(showing(this.#glide?.to ?? this.camera, areaOf(box), this.#size()));
  }

  /** Puts a point of the picture into the middle. */
  look(x: number, y: number): void {
    this.#set(this.#around(x, y, this.camera.zoom));
  }

  /** Moves with what has moved in the picture. */
  shift(dx: number, dy: number): void {
    this.#set({ ...this.camera, x: this.camera.x + dx, y: this.camera.y + dy });
  }

  pan(dx: number, dy: number): void {
    this.#set(panned(this.camera, dx, dy));
  }

  /** Returns whether the view has changed. */
  zoom(factor: number, x: number, y: number): boolean {
    const { zoom } = this.camera;
    this.#set(zoomAt(this.camera, factor, x, y, this.#picture(), this.#size()));
    return this.camera.zoom !== zoom;
  }

  #around(x: number, y: number, zoom: number): Camera {
    const { width, height } = this.#size();
    return { zoom, x: x - width / zoom / 2, y: y - height / zoom / 2 };
  }

  #set(camera: Camera): void {
    this.#glide = null;
    this.camera = bounded(camera, this.#picture(), this.#size());
    this.#aim(this.camera);
  }

  #go(camera: Camera): void {
    if (reducedMotion()) return this.#set(camera);
    const to = bounded(camera, this.#picture(), this.#size());
    this.#glide = { from: this.camera, to, share: 0 };
    this.#aim(to);
  }

  #aim(to: Camera): void {
    this.isWhole = isWhole(to, this.#picture(), this.#size());
    this.#moved(to);
  }
}
