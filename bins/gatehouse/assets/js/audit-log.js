// The audit log page: search, export and verification.

import { Refusal } from "./api.js";
import { actorId, offerActors } from "./audit-actors.js";
import { mark, showActivity } from "./audit-chart.js";
import { showCheckpoint } from "./audit-checkpoint.js";
import { actors, meanings, show, shownCount } from "./audit-entries.js";
import { metadataTexts } from "./audit-proofs.js";
import { offerSearches } from "./audit-searches.js";
import { $, clear, count, element, local, onAct, refuse, say } from "./page.js";
import { embeddedAnswer, keepAlive, myRequest } from "./session.js";

const path = "/api/settings/audit-log";
const form = $('[data-form="search"]');
const found = $("[data-found]");
const more = $("[data-more]");
const none = $("[data-none]");
const further = $("[data-further]");
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

// The search. Fields hold local times; the page URL and the API use UTC.

const isTime = (name) => name === "from" || name === "to";

/** Reads the fields, as the page URL carries them. */
function said() {
  const all = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    const text = value.trim();
    if (text) all.set(name, isTime(name) ? new Date(text).toISOString() : text);
  }
  return all;
}

/** Fills the fields with these values. If `areAll`, clears the fields without a value. */
function fill(values, areAll) {
  for (const { name } of form.elements) {
    if (!name || !(areAll || values.has(name))) continue;
    const value = values.get(name) ?? "";
    const field = form.elements[name];
    if (field.tagName === "SELECT" && value && ![...field.options].some((option) => option.value === value)) field.add(new Option(value));
    field.value = isTime(name) ? local(value) : value;
    if (value && more.contains(field)) more.open = true;
  }
}

/** Normalizes action codes. An incomplete code becomes a prefix pattern, for search as you type. */
function codes(words) {
  const all = [...meanings.keys()];
  const one = (word) => {
    const isBeginning = !word.endsWith("*") && !meanings.has(word) && all.some((known) => known.startsWith(word));
    return isBeginning ? `${word}*` : word;
  };
  return words.split(",").map((word) => word.trim().toUpperCase()).filter(Boolean).map(one).join(",");
}

/** Reads the fields, as the API expects them. */
async function asked() {
  const all = said();
  if (all.has("userId")) all.set("userId", await actorId(all.get("userId")));
  if (all.has("action")) all.set("action", codes(all.get("action")));
  return all;
}

// Loading. Only the latest request counts, even if an earlier response arrives after its own.

let turn = 0;
let timer;
// The query and cursor of the next page; undefined while the entries are about to be replaced.
let next;

/** Announces the number of entries. */
function tell({ nextCursor, scanStoppedAt }) {
  const shown = shownCount();
  const all = count(shown, "entry", "entries");
  if (scanStoppedAt) found.textContent = `${shown === 0 ? "No entries" : all} found so far, back to ${whole.format(new Date(scanStoppedAt))}.`;
  else if (shown === 0) found.textContent = said().size > 0 ? "No entries match." : "No entries yet.";
  else found.textContent = nextCursor ? `Showing the newest ${all}.` : `${all}.`;
}

/** Renders the empty state. */
function tellNothing(isSearched) {
  if (!isSearched) return none.replaceChildren(element("p", "No entries yet."));
  const again = element("button", "Show all entries");
  Object.assign(again, { type: "button", className: "link" });
  again.dataset.act = "clear";
  none.replaceChildren(element("p", "No entries match. Enter a complete name or ID of the actor, and a complete ID of the resource. ", again));
}

function draw({ page, text, query }, isFurther) {
  const texts = metadataTexts(text);
  const first = show(page.entries, texts.length === page.entries.length ? texts : [], isFurther);
  offerActors(actors());
  next = page.nextCursor ? { query, cursor: page.nextCursor } : undefined;
  const stopped = $("[data-stopped]", further);
  stopped.hidden = !page.scanStoppedAt;
  if (page.scanStoppedAt) stopped.textContent = `Searched 50,000 entries, back to ${whole.format(new Date(page.scanStoppedAt))}.`;
  $("button", further).textContent = page.scanStoppedAt ? "Search older entries" : "Load more";
  further.hidden = !next;
  none.hidden = shownCount() > 0 || next !== undefined;
  if (!none.hidden) tellNothing(said().size > 0);
  tell(page);
  return first;
}

/** Reads the body of a response as the server wrote it. */
const textOf = (answer) => answer.text().catch(() => { throw new Refusal(0, {}); });

/** Fetches a page of entries, or takes the one that the page contains. Returns undefined if another search started meanwhile. */
async function pageOf(query) {
  const own = turn;
  $("[data-entries]").setAttribute("aria-busy", "true");
  try {
    const text = embeddedAnswer(`${path}?${query}`) ?? (await textOf(await myRequest("GET", `${path}?${query}`)));
    return own === turn ? { page: JSON.parse(text), text } : undefined;
  } catch (error) {
    if (own === turn) throw error;
    return undefined;
  } finally {
    if (own === turn) $("[data-entries]").removeAttribute("aria-busy");
  }
}

async function look() {
  clearTimeout(timer);
  turn += 1;
  next = undefined;
  const [all, own] = [said(), turn];
  history.replaceState(null, "", all.size > 0 ? `?${all}` : location.pathname);
  mark(all.get("from"), all.get("to"));
  found.textContent = "Loading…";
  try {
    const query = await asked();
    const answer = own === turn && (await pageOf(query));
    if (!answer) return;
    clear(form);
    draw({ ...answer, query }, false);
  } catch (error) {
    if (own !== turn) return;
    clear(form);
    refuse(form, error, true);
    if ($("[aria-invalid]", more)) more.open = true;
    show([], [], false);
    further.hidden = none.hidden = true;
    found.textContent = "The entries could not be loaded.";
  }
}

function lookSoon() {
  clearTimeout(timer);
  timer = setTimeout(look, 300);
}

form.addEventListener("input", lookSoon);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  look();
});

onAct("further", async () => {
  if (next === undefined) return;
  const { query, cursor } = next;
  const answer = await pageOf(new URLSearchParams([...query, ["cursor", cursor]]));
  if (!answer) return;
  // Move the focus to the first new entry.
  const first = draw({ ...answer, query }, true);
  if (first) $("summary", first).focus();
  else if (further.hidden) $("#entries-title").focus();
});

onAct("clear", async () => {
  fill(new URLSearchParams(), true);
  form.elements.q.focus();
  await look();
});

onAct("only", async (button) => {
  fill(new URLSearchParams(button.dataset.query), false);
  $("#entries-title").scrollIntoView({ block: "start" });
  form.elements.q.focus({ preventScroll: true });
  await look();
});

// Export.

onAct("export", async (button) => {
  const cut = $("[data-cut]");
  cut.hidden = true;
  const query = await asked();
  for (const [name, value] of new URLSearchParams(button.dataset.query)) query.set(name, value);
  let answer;
  try {
    answer = await myRequest("GET", `${path}/export?${query}`);
  } catch (error) {
    if (error.status === 429) error.message = "Another export is running. Each user can run one export at a time, and each organization two. Try again when it has finished.";
    throw error;
  }
  // If an export fails midway, the server closes the connection.
  const file = await answer.blob().catch(() => { throw new Refusal(-1, { error: "the export was interrupted; start it again" }); });
  const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? "audit-log";
  const link = element("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // Browsers start the download after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  cut.hidden = answer.headers.get("X-Export-Truncated") !== "true";
  say(`Export saved as ${name}.`);
});

offerSearches(said, (query) => {
  fill(query, true);
  look();
});
// Collapsed on narrow screens to leave room for the entries.
more.open = matchMedia("(min-width: 52rem)").matches;
fill(new URLSearchParams(location.search), true);
showActivity((from, to) => {
  fill(new URLSearchParams({ from, to }), false);
  look();
}).then(() => mark(said().get("from"), said().get("to")));
showCheckpoint();
look();
keepAlive();
