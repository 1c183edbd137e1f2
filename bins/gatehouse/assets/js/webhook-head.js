// The header of a webhook: its state, its test, and pause and resume.

import { Refusal } from "./api.js";
import { badge, classed } from "./elements.js";
import { $, element, onAct, refuse, say } from "./page.js";
import { mine } from "./session.js";
import { isSuccess, outcome, path, state, took } from "./webhook-words.js";

const part = $('[data-part="head"]');

/** The API path of this webhook. */
export const own = `${path}/${part.dataset.id}`;

/** The webhook as last loaded. */
export let hook;

const listeners = [];

/** Calls `listener` with the webhook whenever it was loaded. */
export function onHook(listener) {
  listeners.push(listener);
}

/** Shows the state of the webhook. */
export function show(now) {
  hook = now;
  document.title = `${now.name} · Gatehouse`;
  $("[data-name]", part).textContent = now.name;
  $("[data-url]", part).textContent = now.url;
  const { name, kind, why } = state(now);
  $("[data-state]", part).replaceChildren(badge(name, kind));
  const said = $("[data-why]", part);
  said.hidden = !why;
  said.textContent = why ?? "";
  said.classList.toggle("bad", kind === "bad");
  const button = $("[data-switch]", part);
  button.textContent = now.enabled ? "Pause" : "Resume";
  button.hidden = false;
  for (const listener of listeners) listener(now);
}

/** Loads the webhook. If it was removed, reloads the page, which then shows the 404 error. */
export async function load() {
  try {
    show(await mine("GET", own));
  } catch (error) {
    if (error.status === 404) location.reload();
    else refuse(part, error, true);
  }
}

onAct("switch", async () => {
  const now = await mine("PATCH", own, { enabled: !hook.enabled });
  show(now);
  say(now.enabled ? "Webhook resumed. Pending deliveries are sent now." : "Webhook paused.");
});

// Test.

const test = $('[data-part="test"]');

/** Renders a response body as text only, because the receiver may be hostile. */
export function answer(text) {
  if (!text) return classed("p", "soft", "The response has no body.");
  const shown = element("pre", text);
  shown.tabIndex = 0;
  shown.setAttribute("role", "group");
  shown.setAttribute("aria-label", "Response body");
  return shown;
}

function verdict({ httpStatus, elapsedMs, error }) {
  const isGood = isSuccess(httpStatus);
  const name = badge(error ? "no response" : String(httpStatus), isGood ? "good" : "bad");
  const after = ` after ${took(elapsedMs)}`;
  if (error) return [name, `${after}: ${outcome({ error })}.`];
  return [name, isGood ? `${after}. The receiver accepted the event.` : `${after}. The receiver must respond with 2xx to accept an event${httpStatus >= 300 && httpStatus < 400 ? "; redirects are not followed" : ""}.`];
}

onAct("test", async () => {
  const tested = $("[data-tested]", test);
  const answered = $("[data-answered]", test);
  test.hidden = false;
  tested.textContent = "Sending…";
  answered.replaceChildren();
  try {
    const result = await mine("POST", `${own}/test`);
    tested.replaceChildren(...verdict(result));
    if (!result.error) answered.replaceChildren(element("h3", "Response"), answer(result.body));
    answered.append(classed("p", "hint", "The test sends a signed event of the type ", element("code", "service.webhook.test"), " once. It is not listed as a delivery."));
  } catch (error) {
    test.hidden = true;
    if (error.status !== 429) throw error;
    const wait = error.message.replace(/^[^.]*\. /, "");
    throw Object.assign(new Refusal(429, {}), { message: `Your organization reached the limit of ten tests per minute. ${wait}` });
  }
});

onAct("close-test", async () => {
  test.hidden = true;
  $('[data-act="test"]').focus();
});
