// A page that nobody uses lets its session end.

import assert from "node:assert/strict";

import { somebody } from "./eyes.mjs";

/** Lets time pass in the browser, and compares the heartbeats of a page that is unused and then used again. */
export async function unused(browser, base, signIn) {
  const { context, page, complaints } = await somebody(browser, base);
  await page.clock.install();
  const beats = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/heartbeat")) beats.push("x-session-idle" in request.headers());
  });
  const beat = () => page.waitForResponse((response) => response.url().endsWith("/heartbeat"));
  // Lets time pass in steps until the next heartbeat, and uses the page after each step or not at all. The timer of a heartbeat
  // starts when the page has read the response to the previous one, which may be after the response arrived here.
  const next = async (use = async () => {}) => {
    let isDue = true;
    const due = beat().then(() => { isDue = false; });
    for (; isDue; await use()) await page.clock.runFor("00:20");
    await due;
  };
  const first = beat();
  await signIn(page);
  await first;
  await next();
  await next();
  let x = 100;
  await next(() => page.mouse.move(x += 1, 100));
  assert.deepEqual(beats, [false, true, true, false], "only the heartbeats of a used page keep its session alive");
  assert.deepEqual(complaints, []);
  await context.close();
}
