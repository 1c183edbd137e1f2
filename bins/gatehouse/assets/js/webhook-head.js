// One webhook: how it stands, a test of it, and whether it is on.

import { Refusal } from "./api.js";
import { badge, classed } from "./elements.js";
import { $, element, onAct, refuse, say } from "./page.js";
import { mine } from "./session.js";
import { isSuccess, outcome, path, state, took } from "./webhook-words.js";

const part = $('[data-part="head"]');

/** Where the API has it. */
export const own = `${path}/${part.dataset.id}`;

/** What it is now. */
export let hook;

const listeners = [];

/** Runs `listener` with the webhook whenever it is known anew. */
export function onHook(listener) {
  listeners.push(listener);
}

/** Shows what it is now. */
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

/** Asks the API what it is now. Where it was removed meanwhile, the page of that takes the place of this one. */
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

// The test.

const test = $('[data-part="test"]');

/** What a hostile or broken receiver may have answered, as nothing but text. */
export function answer(text) {
  if (!text) return classed("p", "soft", "The response has no body.");
  const shown = element("pre", text);
  shown.tabIndex = 0;
  shown.setAttribute("role", "group");
  shown.setAttribute("aria-label", "Body of the response");
  return shown;
}

function verdict({ httpStatus, elapsedMs, error }) {
  const isGood = isSuccess(httpStatus);
  const name = badge(error ? "no response" : String(httpStatus), isGood ? "good" : "bad");
  const after = ` after ${took(elapsedMs)}`;
  if (error) return [name, `${after}: ${outcome({ error })}.`];
  return [name, isGood ? `${after}. The receiver accepted it.` : `${after}. A receiver accepts a delivery with 2xx${httpStatus >= 300 && httpStatus < 400 ? "; redirects are not followed" : ""}.`];
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
    answered.append(classed("p", "hint", "The test event has the type ", element("code", "service.webhook.test"), " and a normal signature. It is sent once and not listed as a delivery."));
  } catch (error) {
    test.hidden = true;
    if (error.status !== 429) throw error;
    const wait = error.message.replace(/^[^.]*\. /, "");
    throw Object.assign(new Refusal(429, {}), { message: `Your organization has sent ten tests in a minute, the maximum. ${wait}` });
  }
});

onAct("close-test", async () => {
  test.hidden = true;
  $('[data-act="test"]').focus();
});
