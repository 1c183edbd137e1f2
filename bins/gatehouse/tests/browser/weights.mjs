// Weights of the pages on the wire, and how soon they show their content.
import assert from "node:assert/strict";

const PAGES = [
  "/settings", "/settings/people", "/settings/groups", "/settings/sign-in", "/settings/sso", "/settings/scim", "/settings/webhooks", "/settings/log-streams", "/settings/signals", "/settings/transmitters",
  "/settings/network", "/settings/authenticators", "/settings/audit-log", "/account/security", "/developers", "/developers/settings",
];
/** Maximum bytes of a page and everything that it loads, with an empty cache. */
const MAX_BYTES = 60_000;

/** Opens a page with an empty cache. Returns the bytes received, and when it first showed its content, in milliseconds. */
async function visit(context, path, latency) {
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  let bytes = 0;
  await devtools.send("Network.enable");
  devtools.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
  await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
  await devtools.send("Network.emulateNetworkConditions", { offline: false, latency, downloadThroughput: -1, uploadThroughput: -1 });
  await page.goto(path);
  await page.waitForLoadState("networkidle");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  const lists = await page.evaluate(() => performance.getEntriesByType("resource").map((one) => one.name).filter((name) => /\/api\/settings\/(audit-log|webhooks|saml-providers|oidc-providers|domains)\??$/.test(name)));
  assert.deepEqual(lists, [], `${path}: lists are part of the page`);
  const last = await page.evaluate(() => Math.max(...performance.getEntriesByType("resource").map((one) => one.responseEnd)));
  await page.close();
  return { bytes, paint, last };
}

/** Measures every page as this signed-in administrator. Times are printed only: they depend on the machine. */
export async function weights({ context }) {
  await visit(context, "/settings", 0);
  for (const path of PAGES) {
    const near = await visit(context, path, 0);
    const far = await visit(context, path, 150);
    const ms = (time) => `${Math.round(time)} ms`;
    console.log(`     ${path}: ${(near.bytes / 1000).toFixed(1)} kB, first paint ${ms(near.paint)}; at 150 ms: ${ms(far.paint)}, all loaded ${ms(far.last)}`);
    assert.ok(near.bytes < MAX_BYTES, `${path}: ${near.bytes} bytes`);
  }
}
