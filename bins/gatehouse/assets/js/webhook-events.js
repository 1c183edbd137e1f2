// The event filters of a webhook: all events, or groups, single types and patterns.

import { Refusal } from "./api.js";
import { acting, classed } from "./elements.js";
import { $, $$, clear, count, element, onAct } from "./page.js";

/** Returns whether a pattern matches a type, by the server's rules, in time O(pattern × type). */
export function means(pattern, type) {
  let [at, of] = [0, 0];
  // The position of the last star, and the end of the text that it matches.
  let star;
  while (at < type.length) {
    if (pattern[of] === "*") {
      star = { place: of, taken: at };
      of += 1;
    } else if (pattern[of] === type[at]) {
      at += 1;
      of += 1;
    } else if (star) {
      star.taken += 1;
      at = star.taken;
      of = star.place + 1;
    } else {
      return false;
    }
  }
  return [...pattern.slice(of)].every((letter) => letter === "*");
}

const part = $('[data-part="events"]');
const groups = $$("[data-group]", part).map((place) => ({
  place,
  called: place.getAttribute("aria-label"),
  glob: place.dataset.group,
  whole: $("[data-whole]", place),
  boxes: $$("[data-kind]", place),
}));
const types = groups.flatMap(({ boxes }) => boxes.map((box) => box.value));
const known = new Set([...types, ...groups.map(({ glob }) => glob)]);

// The selected filters, in the order of selection.
let chosen = new Set();
let changed = () => {};

const isAll = () => $('[name="which"]:checked', part)?.value === "ALL";
const matched = (patterns) => types.filter((type) => patterns.some((pattern) => means(pattern, type))).length;

/** Returns the value of `eventFilters`. */
export const filters = () => (isAll() ? ["*"] : [...chosen]);

/** Returns the filters and throws if there are none: the server would treat that as all events. */
export function chosenFilters() {
  const all = filters();
  if (all.length === 0) throw new Refusal(400, { error: "eventFilters: select at least one event, or all events" });
  return all;
}

/** Describes a selected filter; empty for a single type. */
function words(filter) {
  const group = groups.find(({ glob }) => glob === filter);
  if (group) return `${group.called}, all events`;
  if (known.has(filter)) return "";
  const meant = matched([filter]);
  return meant === 0 ? "matches no current type" : `matches ${count(meant, "current type")}`;
}

/** Renders the selected filters of all groups. */
function drawChosen() {
  const list = $("[data-chosen]", part);
  list.hidden = chosen.size === 0;
  list.replaceChildren(...[...chosen].map((filter) => {
    const remove = acting("drop-filter", "×", `Remove ${filter}`);
    remove.dataset.filter = filter;
    const said = words(filter);
    return element("li", element("code", filter), ...(said ? [classed("span", "soft", said)] : []), remove);
  }));
}

function draw() {
  $("[data-choosing]", part).hidden = isAll();
  const own = [...chosen].filter((pattern) => !known.has(pattern));
  for (const { glob, whole, boxes } of groups) {
    const hasAll = chosen.has(glob);
    for (const box of boxes) {
      box.checked = hasAll || chosen.has(box.value);
      const by = box.checked ? undefined : own.find((pattern) => means(pattern, box.value));
      const note = $(".by", box.parentElement);
      if (by === undefined) note?.remove();
      else (note ?? box.parentElement.lastElementChild.appendChild(classed("span", "by"))).textContent = `matched by ${by}`;
    }
    whole.checked = hasAll;
    whole.indeterminate = !hasAll && boxes.some((box) => box.checked);
  }
  drawChosen();
  const all = filters();
  $("[data-meant]", part).textContent = all.length === 0 ? "No events selected yet." : `Matches ${matched(all)} of ${count(types.length, "current event type")}.`;
  $("[data-filters]", part).textContent = JSON.stringify(all).replaceAll(",", ", ");
  changed();
}

/** Shows these filters, and calls `then` after each change. */
export function setFilters(all, then = changed) {
  changed = then;
  const isEvery = all.length === 1 && all[0] === "*";
  chosen = new Set(isEvery ? [] : all);
  $(`[name="which"][value="${isEvery ? "ALL" : "SOME"}"]`, part).checked = true;
  draw();
}

function choose({ glob, boxes }, box) {
  if (box.matches("[data-whole]")) {
    for (const one of boxes) chosen.delete(one.value);
    if (box.checked) chosen.add(glob);
    else chosen.delete(glob);
    return;
  }
  // Deselecting a type of a selected group leaves the other types selected.
  if (chosen.delete(glob)) for (const one of boxes) chosen.add(one.value);
  if (box.checked) chosen.add(box.value);
  else chosen.delete(box.value);
}

part.addEventListener("change", (event) => {
  const group = groups.find(({ place }) => place.contains(event.target));
  if (group) choose(group, event.target);
  if (group || event.target.name === "which") {
    clear(part);
    draw();
  }
});

// Search.

function seek(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { place, called, boxes } of groups) {
    let inGroup = 0;
    for (const box of boxes) {
      const row = box.closest("label");
      const said = `${called} ${row.textContent}`.toLowerCase();
      row.hidden = !words.every((word) => said.includes(word));
      inGroup += row.hidden ? 0 : 1;
    }
    place.hidden = inGroup === 0;
    shown += inGroup;
  }
  $("[data-no-type]", part).hidden = shown > 0;
}

const seeking = $("[data-seek]", part);
seeking.addEventListener("input", () => seek(seeking.value));

// Custom patterns.

const field = $('[name="eventFilters"]', part);

onAct("add-pattern", async () => {
  const pattern = field.value.trim();
  if (!/^[A-Za-z0-9_.*]{1,128}$/.test(pattern)) throw new Refusal(400, { error: "eventFilters: write 1 to 128 characters of A-Z, a-z, 0-9, _, . and *" });
  chosen.add(pattern);
  field.value = "";
  field.focus();
  draw();
});

onAct("drop-filter", async (button) => {
  const at = $$("[data-filter]", part).indexOf(button);
  chosen.delete(button.dataset.filter);
  draw();
  // Keep the focus in the list, so that several filters can be removed in a row.
  const left = $$("[data-filter]", part);
  (left[Math.min(at, left.length - 1)] ?? field).focus();
});

// Enter in these fields does not submit the form.
part.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || ![field, seeking].includes(event.target)) return;
  event.preventDefault();
  if (event.target === field) $('[data-act="add-pattern"]', part).click();
});
