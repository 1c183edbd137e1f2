// The header of a webhook: its state, its test, and pause and resume.

import { Refusal } from "./api.js";
import { badge, bodyText, classed } from "./elements.js";
import { $, element, onAct, say } from "./page.js";
import { resource } from "./resource.js";
import { mine } from "./session.js";
import { isSuccess, outcome, path, state, took } from "./webhook-words.js";

const part = $('[data-part="head"]');

/** The API path of this webhook. */
export const own = `${path}/${part.dataset.id}`;

/** The webhook as last loaded. */
export let hook;

export const { show, onChange: onHook, load } = resource(own, (now) => {
  hook = now;
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
});

onAct("switch", async () => {
  const now = await mine("PATCH", own, { enabled: !hook.enabled });
  show(now);
  say(now.enabled ? "Webhook resumed. Pending deliveries are sent now." : "Webhook paused.");
});

// Test.

const test = $('[data-part="test"]');

/** Renders a response body. */
export const answer = (text) => (text ? bodyText(text, "Response body") : classed("p", "soft", "The response has no body."));

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
