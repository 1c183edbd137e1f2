// Elements that scripts create.

import { element } from "./page.js";

/** Creates an element with this class. */
export function classed(name, className, ...within) {
  const made = element(name, ...within);
  made.className = className;
  return made;
}

export const badge = (text, kind = "") => classed("span", `badge ${kind}`.trim(), text);

/** Creates a button with this `data-act`. */
export function acting(act, text, label) {
  const button = classed("button", "quiet", text);
  button.type = "button";
  button.dataset.act = act;
  if (label) button.setAttribute("aria-label", label);
  return button;
}
