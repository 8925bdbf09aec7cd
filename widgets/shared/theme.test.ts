import { expect, it } from "vitest";
import { isDark, type Said } from "./theme.ts";

const NOTHING: Said = { jupyter: "", vscode: "", colab: "", classes: [], scheme: "normal", preferred: false };

it.each([
  ["JupyterLab, dark", { jupyter: "false" }, true],
  ["JupyterLab, light, on a dark system", { jupyter: "true", preferred: true }, false],
  ["VS Code, dark", { vscode: "vscode-dark" }, true],
  ["VS Code, high contrast", { vscode: "vscode-high-contrast" }, true],
  ["VS Code, light, on a dark system", { vscode: "vscode-light", preferred: true }, false],
  ["VS Code, high contrast light", { vscode: "vscode-high-contrast-light" }, false],
  ["Colab, dark", { colab: "dark" }, true],
  ["Colab, light", { colab: "light", preferred: true }, false],
  ["marimo, dark", { classes: ["antialiased", "dark"] }, true],
  ["marimo, light, on a dark system", { classes: ["light"], preferred: true }, false],
  ["a page of a dark scheme", { scheme: "dark" }, true],
  ["a page of a light scheme, on a dark system", { scheme: "light", preferred: true }, false],
  ["a page of both schemes", { scheme: "light dark", preferred: true }, true],
  ["a page that says nothing", {}, false],
] as [string, Partial<Said>, boolean][])("%s", (_, says, dark) => {
  expect(isDark({ ...NOTHING, ...says })).toBe(dark);
});
