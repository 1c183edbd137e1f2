// Elements that pages make themselves.

import { element } from "./page.js";

/** An element of this class. */
export function classed(name, className, ...within) {
  const made = element(name, ...within);
  made.className = className;
  return made;
}

export const badge = (text, kind = "") => classed("span", `badge ${kind}`.trim(), text);

/** A button that does what is called so. */
export function acting(act, text, label) {
  const button = classed("button", "quiet", text);
  button.type = "button";
  button.dataset.act = act;
  if (label) button.setAttribute("aria-label", label);
  return button;
}
