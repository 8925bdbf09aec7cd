/** Draw at most once per animation frame, and never while the chart is invisible. */

/** What has to be drawn again: what moves over the bars, or everything. */
export type Damage = "overlay" | "all";

export interface Frames {
  invalidate(damage: Damage): void;
  stop(): void;
}

/**
 * Calls `draw` for what was invalidated since the last frame, with the seconds since then; while it returns true, it is
 * called on every frame. An element off screen stays attached in JupyterLab: nothing is drawn and time stands still until it is visible again.
 */
export function frames(element: Element, draw: (damage: Damage, elapsed: number) => boolean): Frames {
  let damage: Damage | null = null;
  let request = 0;
  let last = 0;
  let visible = true;

  const ask = () => {
    if (!request && visible) request = requestAnimationFrame(onFrame);
  };
  const onFrame = (now: number) => {
    request = 0;
    const what = damage ?? "overlay";
    damage = null;
    const goOn = draw(what, last ? (now - last) / 1000 : 0);
    last = goOn ? now : 0;
    if (goOn || damage) ask();
  };
  const seen = new IntersectionObserver(([entry]) => {
    visible = entry!.isIntersecting;
    last = 0;
    if (visible) ask();
  });
  seen.observe(element);
  return {
    invalidate(what) {
      if (damage !== "all") damage = what;
      ask();
    },
    stop() {
      seen.disconnect();
      cancelAnimationFrame(request);
    },
  };
}
