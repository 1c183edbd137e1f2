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

/** Renders a body as text only, because the sender may be hostile. The keyboard can scroll it. */
export function bodyText(text, label) {
  const shown = element("pre", text);
  shown.tabIndex = 0;
  shown.setAttribute("role", "group");
  shown.setAttribute("aria-label", label);
  return shown;
}

/** Creates the place for the error message of a part. */
export function refused() {
  const made = classed("p", "note bad");
  made.dataset.refused = "";
  made.setAttribute("role", "alert");
  made.hidden = true;
  return made;
}

/** Creates a row that expands. Its details are rendered when it does, because most rows never do. */
export function foldedRow(id, part, glance, details) {
  const folded = element("details", classed("summary", "glance", ...glance));
  folded.addEventListener("toggle", () => {
    if (folded.open && folded.children.length === 1) folded.append(details());
  });
  const made = element("li", folded);
  made.dataset.id = id;
  made.dataset.part = part;
  return made;
}

/** Formats a time to the second. */
export const wholeTime = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Creates a row of a definition list with a value and a copy button. */
export function copyable(id, name, text) {
  const code = element("code", text);
  code.id = id;
  const copy = classed("button", "quiet", "Copy");
  copy.type = "button";
  copy.dataset.copyFrom = `#${id}`;
  copy.setAttribute("aria-label", `Copy ${name.toLowerCase()}`);
  return element("div", element("dt", name), element("dd", code, " ", copy));
}
