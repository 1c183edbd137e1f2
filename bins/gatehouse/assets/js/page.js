// Shared by all pages: forms, dialogs, times, copying.

import { Refusal } from "./api.js";

export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

/** Creates an element with this text or these children. */
export function element(name, ...within) {
  const made = document.createElement(name);
  made.append(...within);
  return made;
}

/** Formats a count with its noun: "1 entry", "2 entries". */
export const count = (number, one, more = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;

/** Shows a message for a few seconds. */
export function say(text) {
  const said = $("#said");
  // Content behind an open dialog is neither visible nor announced.
  ($$("dialog[open]").at(-1) ?? document.body).append(said);
  said.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { said.textContent = ""; }, 4000);
}

/** Shows an error in this part of the page. If `quietly`, does not move the focus to the invalid field. */
export function refuse(part, error, quietly = false) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Refusal)) {
    console.error(error);
    error = new Refusal(-1, { error: "something went wrong on this page; reload it" });
  }
  const field = error.field && $(`[data-wrong="${error.field}"]`, part);
  const place = field || $("[data-refused]", part);
  if (!place) return say(error.message);
  place.textContent = error.message;
  if (error.code === "REAUTH_REQUIRED") {
    const query = new URLSearchParams({ reason: error.code, next: location.pathname + location.search });
    place.append(" ", Object.assign(document.createElement("a"), { href: `/auth/login?${query}`, textContent: "Sign in again" }));
  }
  place.hidden = false;
  if (field) {
    const input = $(`[name="${error.field}"]`, part);
    input?.setAttribute("aria-invalid", "true");
    if (!quietly) input?.focus();
  }
}

/** Hides the errors of this part. */
export function clear(part) {
  for (const said of $$("[data-refused], [data-wrong]", part)) said.hidden = true;
  for (const input of $$("[aria-invalid]", part)) input.removeAttribute("aria-invalid");
}

/** Runs `work`, one at a time per part, and shows errors in `part`. Returns whether `work` succeeded. */
export async function during(part, button, work) {
  if (part.dataset.busy) return false;
  part.dataset.busy = "1";
  clear(part);
  button?.setAttribute("aria-busy", "true");
  try {
    await work();
    return true;
  } catch (error) {
    refuse(part, error);
    return false;
  } finally {
    delete part.dataset.busy;
    button?.removeAttribute("aria-busy");
  }
}

/** Runs `work` with the fields when the form with this `data-form` is submitted. */
export function onSend(name, work) {
  const form = $(`[data-form="${name}"]`);
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter ?? $("button:not([type=button])", form);
    during(form, button, () => work(new FormData(form), form, event.submitter));
  });
}

/** Runs `work` when a button with this `data-act` is pressed. */
export function onAct(name, work) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest(`[data-act="${name}"]`);
    if (!button) return;
    const part = button.closest("[data-part], dialog, section, .gate, .bar") ?? document.body;
    during(part, button, () => work(button));
  });
}

/** Resets and opens a dialog. */
export function open(id) {
  const dialog = document.getElementById(id);
  clear(dialog);
  $("form", dialog).reset();
  dialog.showModal();
  return dialog;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser blocked copying. Select the text and copy it.");
  }
}

// Up to a hundred days are counted in days: "in 90 days" instead of "in 3 months".
const units = [["year", 31536e3], ["month", 8640e3], ["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const unit = units.find(([, length]) => Math.abs(seconds) >= length);
  return unit ? words.format(Math.round(seconds / (unit[0] === "month" ? 2628e3 : unit[1])), unit[0]) : seconds > 0 ? "in a moment" : "just now";
}

/** Shows times relative to now, with the local time as the tooltip. */
export function localise(within = document) {
  const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
  for (const time of $$("time", within)) {
    const date = new Date(time.dateTime);
    time.textContent = ago(date);
    time.title = whole.format(date);
  }
}

/** Formats a time for a datetime-local field; empty if it is invalid. */
export function local(value) {
  const date = new Date(value);
  if (!value || Number.isNaN(date.getTime())) return "";
  const here = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString();
  return here.replace(/(:00)?\.000Z$|Z$/, "");
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { close, reveal, copyFrom } = button.dataset;
  if (close !== undefined) button.closest("dialog").close();
  if (copyFrom) copy($(copyFrom, button.closest("dialog") ?? document).textContent);
  if (reveal) {
    const input = document.getElementById(reveal);
    const shown = input.type === "text";
    input.type = shown ? "password" : "text";
    button.textContent = shown ? "Show" : "Hide";
    button.setAttribute("aria-pressed", String(!shown));
  }
});

// A closed dialog forgets its input.
document.addEventListener("close", (event) => {
  for (const form of $$("form", event.target)) form.reset();
}, true);

// A page restored from the back/forward cache is outdated.
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// Reset hides passwords that were shown, so that the next use of the dialog starts with a hidden field.
document.addEventListener("reset", (event) => {
  for (const button of $$("[data-reveal][aria-pressed=true]", event.target)) button.click();
});

const { base } = document.documentElement.dataset;
if (base && new URL(base).origin !== location.origin) {
  $("#elsewhere a").href = base + location.pathname + location.search + location.hash;
  $("#elsewhere").hidden = false;
}
localise();
