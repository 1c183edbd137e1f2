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
  const after = async (time) => {
    const due = beat();
    await page.clock.runFor(time);
    await due;
  };
  const first = beat();
  await signIn(page);
  await first;
  await after("05:01");
  await after("05:01");
  await page.mouse.move(100, 100);
  await after("04:59");
  assert.deepEqual(beats, [false, true, true, false], "only the heartbeats of a used page keep its session alive");
  assert.deepEqual(complaints, []);
  await context.close();
}
