/**
 * Colours of the page the widget stands in.
 *
 * JupyterLab changes its theme by setting `data-jp-theme-light` on the body, nothing else; outside Jupyter the
 * operating system's preference decides.
 */
export interface Theme {
  readonly dark: boolean;
  readonly background: string;
  readonly surface: string;
  readonly line: string;
  readonly ink: string;
  readonly faint: string;
  readonly accent: string;
  readonly critical: string;
  readonly good: string;
  readonly warn: string;
  readonly bad: string;
}

/** Style declarations that a root element includes, so that its style sheet and its canvas speak of the same colours. */
export const THEME_CSS = `
.placelab{--pl-bg:var(--jp-layout-color0,#fff);--pl-surface:var(--jp-layout-color2,#eee);--pl-line:var(--jp-border-color2,#ddd);
--pl-ink:var(--jp-ui-font-color0,#111);--pl-faint:var(--jp-ui-font-color2,#616161);--pl-accent:var(--jp-brand-color1,#1976d2);
--pl-critical:#c4161c;--pl-good:#00734f;--pl-warn:#8a5a00;--pl-bad:#b3261e;
font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:var(--jp-ui-font-size1,13px);color:var(--pl-ink)}
.placelab[data-theme=dark]{--pl-bg:var(--jp-layout-color0,#111);--pl-surface:var(--jp-layout-color2,#2a2a2a);--pl-line:var(--jp-border-color2,#444);
--pl-ink:var(--jp-ui-font-color0,#f2f2f2);--pl-faint:var(--jp-ui-font-color2,#a8a8a8);--pl-accent:var(--jp-brand-color1,#64b5f6);
--pl-critical:#ff5a52;--pl-good:#4cc38a;--pl-warn:#f0b429;--pl-bad:#ff8a80}`;

/** Whether the page is dark now. */
export function isDark(): boolean {
  const jupyter = document.body.dataset.jpThemeLight;
  return jupyter ? jupyter === "false" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Marks `root` (class `placelab`) light or dark, and returns the colours it then has, all as "#rrggbb". */
export function readTheme(root: HTMLElement): Theme {
  const dark = isDark();
  root.dataset.theme = dark ? "dark" : "light";
  const style = getComputedStyle(root);
  const hex = opaque();
  const base = hex(style.getPropertyValue("--pl-bg").trim());
  const colour = (name: string) => hex(style.getPropertyValue(`--pl-${name}`).trim(), base);
  return {
    dark,
    background: colour("bg"),
    surface: colour("surface"),
    line: colour("line"),
    ink: colour("ink"),
    faint: colour("faint"),
    accent: colour("accent"),
    critical: colour("critical"),
    good: colour("good"),
    warn: colour("warn"),
    bad: colour("bad"),
  };
}

/** Any CSS colour as "#rrggbb", laid over `base` where it is translucent: a canvas knows all of CSS's ways to name one. */
function opaque(): (colour: string, base?: string) => string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  return (colour, base = "#ffffff") => {
    for (context.fillStyle of [base, colour]) context.fillRect(0, 0, 1, 1);
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
    return `#${[r, g, b].map((c) => c!.toString(16).padStart(2, "0")).join("")}`;
  };
}

/** Calls `changed` whenever the theme changes; returns the function that stops it. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", changed);
  };
}

/** Whether the user asked for less motion. */
export function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
