// A page that nobody uses lets its session end.

import assert from "node:assert/strict";

import { somebody } from "./eyes.mjs";

/** Lets time pass in the browser, and counts the heartbeats of a page that is unused and then used again. */
export async function unused(browser, base, signIn) {
  const { context, page, complaints } = await somebody(browser, base);
  await page.clock.install();
  let beats = 0;
  page.on("request", (request) => { if (request.url().endsWith("/api/me/sessions/heartbeat")) beats += 1; });
  const beat = () => page.waitForResponse((response) => response.url().endsWith("/heartbeat"));
  const first = beat();
  await signIn(page);
  await first;
  await page.clock.runFor("20:00");
  assert.equal(beats, 1, "an unused page sends no heartbeat");
  const late = beat();
  await page.mouse.move(100, 100);
  await late;
  // Used within the interval: the next heartbeat comes when it is due.
  await page.keyboard.press("Shift");
  const due = beat();
  await page.clock.runFor("05:01");
  await due;
  assert.equal(beats, 3);
  assert.deepEqual(complaints, []);
  await context.close();
}
