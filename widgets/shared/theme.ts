import { devicePalette } from "./palette.ts";

/**
 * Colours of the page around the widget.
 *
 * Each host says in a way of its own whether it is dark: JupyterLab and Notebook by `data-jp-theme-light` on the body, VS Code by
 * `data-vscode-theme-kind`, Colab by `theme` of the html element, marimo and others by a class `dark`, some pages by
 * `color-scheme` alone. Where none does, the operating system's preference decides.
 */
export type Theme = { readonly dark: boolean } & { readonly [name in (typeof NAMES)[number]]: string };

/** Colours that a canvas needs to know, too; each is the custom property `--pl-…` in the style sheets. */
const NAMES = ["bg", "surface", "line", "ink", "faint", "accent", "critical", "good"] as const;

/**
 * Style declarations that a root element includes, so that its style sheet and its canvas use the same colours:
 * JupyterLab's, or elsewhere those written here. The size of letters counts less than a view's own: each view brings these
 * declarations along, and those of the last one come after the style sheets of all others.
 */
export const THEME_CSS = `.placelab{--pl-1:#fff;--pl-2:#eee;--pl-3:#ddd;--pl-4:#111;--pl-5:#616161;--pl-6:#1976d2;
--pl-bg:var(--jp-layout-color0,var(--pl-1));--pl-surface:var(--jp-layout-color2,var(--pl-2));--pl-line:var(--jp-border-color2,var(--pl-3));
--pl-ink:var(--jp-ui-font-color0,var(--pl-4));--pl-faint:var(--jp-ui-font-color2,var(--pl-5));--pl-accent:var(--jp-brand-color1,var(--pl-6));
--pl-critical:#c4161c;--pl-good:#00734f;--pl-warn:#8a5a00;--pl-bad:#b3261e;${ofDevices(false)}
font-family:var(--jp-ui-font-family,system-ui,sans-serif);color:var(--pl-ink)}:where(.placelab){font-size:var(--jp-ui-font-size1,13px)}
.placelab[data-theme=dark]{--pl-1:#111;--pl-2:#2a2a2a;--pl-3:#444;--pl-4:#f2f2f2;--pl-5:#a8a8a8;--pl-6:#64b5f6;
--pl-critical:#ff5a52;--pl-good:#4cc38a;--pl-warn:#f0b429;--pl-bad:#ff8a80;${ofDevices(true)}}`;

/** Colours of a picture on paper, whatever the page has. */
export const PAPER: Theme = {
  dark: false,
  bg: "#ffffff",
  surface: "#eeeeee",
  line: "#dddddd",
  ink: "#111111",
  faint: "#616161",
  accent: "#1976d2",
  critical: "#c4161c",
  good: "#00734f",
};

/** The colours of devices as `--pl-device-0` and so on. */
function ofDevices(dark: boolean): string {
  return devicePalette(dark)
    .map((colour, d) => `--pl-device-${d}:${colour};`)
    .join("");
}

/** What a page says of its theme; "" for what it does not say. */
export interface Said {
  /** `data-jp-theme-light` of the body. */
  readonly jupyter: string;
  /** `data-vscode-theme-kind` of the body. */
  readonly vscode: string;
  /** `theme` of the html element. */
  readonly colab: string;
  /** Classes of the html element and of the body. */
  readonly classes: readonly string[];
  /** The computed `color-scheme`. */
  readonly scheme: string;
  /** Whether the operating system prefers dark. */
  readonly preferred: boolean;
}

/** Whether a page is dark; what is said first in the order of {@link Said} decides. */
export function isDark({ jupyter, vscode, colab, classes, scheme, preferred }: Said): boolean {
  if (jupyter) return jupyter === "false";
  if (vscode) return !vscode.includes("light");
  if (colab) return colab === "dark";
  for (const name of ["dark", "light"]) if (classes.includes(name)) return name === "dark";
  if (scheme === "dark" || scheme === "light") return scheme === "dark";
  return preferred;
}

/** What the page around says now. */
function said(): Said {
  const { body, documentElement: html } = document;
  return {
    jupyter: body.dataset.jpThemeLight ?? "",
    vscode: body.dataset.vscodeThemeKind ?? "",
    colab: html.getAttribute("theme") ?? "",
    classes: [...html.classList, ...body.classList],
    scheme: getComputedStyle(html).colorScheme ?? "",
    preferred: matchMedia("(prefers-color-scheme: dark)").matches,
  };
}

/** Marks `root` (class `placelab`) light or dark, as the page is now; returns whether dark. */
export function markTheme(root: HTMLElement): boolean {
  const dark = isDark(said());
  root.dataset.theme = dark ? "dark" : "light";
  return dark;
}

/** Marks `root` and returns the colours it then has, all as "#rrggbb". */
export function readTheme(root: HTMLElement): Theme {
  const dark = markTheme(root);
  const style = getComputedStyle(root);
  const hex = opaque();
  const theme: Record<string, string> = {};
  for (const name of NAMES) theme[name] = hex(style.getPropertyValue(`--pl-${name}`), theme.bg);
  return { dark, ...(theme as Omit<Theme, "dark">) };
}

/** Any CSS colour as "#rrggbb", blended over `base` where it is translucent; a canvas parses all CSS notations. */
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

const ATTRIBUTES = ["data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind", "theme", "class", "style"];

/** Calls `changed` whenever the theme changes; returns the function that stops it. */
export function watchTheme(changed: () => void): () => void {
  const now = () => `${isDark(said())} ${document.body.dataset.jpThemeName ?? ""}`;
  let before = now();
  const look = () => {
    const after = now(); // classes change for other reasons, too
    if (after === before) return;
    before = after;
    changed();
  };
  const observer = new MutationObserver(look);
  for (const element of [document.documentElement, document.body])
    observer.observe(element, { attributes: true, attributeFilter: ATTRIBUTES });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", look);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", look);
  };
}

/** Whether the user asked for less motion. */
export function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
