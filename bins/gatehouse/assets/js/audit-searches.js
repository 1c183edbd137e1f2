// Searches of the audit log that the user has saved in this browser.

import { acting } from "./elements.js";
import { $, element, onAct, onSend, open, say } from "./page.js";

/** Maximum number of saved searches. */
const MOST = 20;

const list = $("[data-searches]");
const key = `gatehouse.searches.${$('[data-part="checkpoint"]').dataset.tenant}`;

/** Reads the saved searches: names and queries. */
function saved() {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? [];
  } catch {
    return [];
  }
}

function draw() {
  const rows = saved().map(({ name, query }) => {
    const apply = acting("apply-search", name);
    apply.dataset.query = query;
    const row = element("li", apply, acting("remove-search", "×", `Remove ${name}`));
    row.dataset.name = name;
    return row;
  });
  list.replaceChildren(...rows);
  list.hidden = rows.length === 0;
}

function keep(searches) {
  try {
    localStorage.setItem(key, JSON.stringify(searches));
  } catch {
    say("The browser stores nothing for this site, so the search was not saved.");
  }
  draw();
}

/**
 * Lets the user save searches. `current` returns the present search, and `apply` runs a saved one. Times are not saved:
 * they would soon be in the past.
 */
export function offerSearches(current, apply) {
  const query = () => {
    const all = current();
    all.delete("from");
    all.delete("to");
    return all.toString();
  };
  onAct("save-search", async () => {
    if (!query()) return say("Enter a search first. Times are not saved.");
    open("save-search");
  });
  onSend("save-search", async (given, form) => {
    const name = given.get("name").trim();
    const others = saved().filter((one) => one.name !== name);
    keep([{ name, query: query() }, ...others].slice(0, MOST));
    form.closest("dialog").close();
  });
  onAct("apply-search", async (button) => apply(new URLSearchParams(button.dataset.query)));
  onAct("remove-search", async (button) => {
    keep(saved().filter(({ name }) => name !== button.closest("li").dataset.name));
    ($("button", list) ?? $('[data-act="save-search"]')).focus();
  });
  draw();
}
