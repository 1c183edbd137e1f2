// An administrator adds, tests, watches, changes and removes a log stream.
import assert from "node:assert/strict";
import { sink } from "./sink.mjs";

/** Runs the walk as this administrator. `see` checks a page, `by` finds a button. */
export async function logStreams({ page, complaints }, see, by) {
  const receiver = await sink();
  const shows = (text) => page.getByText(text).first().waitFor();
  const lines = () => receiver.came.flatMap(({ body }) => body.split("\n").filter(Boolean).map((line) => JSON.parse(line)));

  await page.getByRole("link", { name: "Log streams" }).click();
  await shows("No log streams yet");
  await see(page, "log-streams-empty");

  // The fields belong to the type.
  await page.getByRole("link", { name: "Add log stream" }).click();
  await page.waitForFunction(() => document.activeElement.id === "stream-name");
  const type = page.getByLabel("Type", { exact: true });
  await see(page, "log-stream-new-splunk");
  await type.selectOption("S3");
  await page.getByLabel("Bucket").waitFor();
  await see(page, "log-stream-new-s3");
  await type.selectOption("SYSLOG");
  await page.getByLabel("CA certificates (optional)").waitFor();
  assert.ok(!(await page.getByLabel("Bucket").isVisible()));
  await see(page, "log-stream-new-syslog");

  // Errors appear at their fields.
  await type.selectOption("HTTPS");
  await page.getByLabel("Name", { exact: true }).fill("SIEM <b>main</b>");
  const url = page.getByLabel("URL", { exact: true });
  await url.fill("http://10.0.0.1/audit");
  await by(page, "Add log stream").click();
  await page.locator('[data-wrong="url"]').getByText("public addresses only").waitFor();
  await url.fill(receiver.url);
  await page.getByLabel("Header with the secret (optional)").fill("Authorization");
  await by(page, "Add log stream").click();
  await page.locator('[data-wrong="secret"]').waitFor();
  await page.getByLabel("Value of the header (optional)").fill("Bearer siem");
  await page.getByLabel(/At the beginning/).check();
  await by(page, "Add log stream").click();

  // The whole log arrives in order, and the page shows it without a reload.
  await page.waitForURL(/\?id=lst_/);
  await shows("All entries are sent.");
  const sequences = lines().map((event) => event.metadata.sequence).filter((sequence) => sequence !== undefined);
  assert.deepEqual(sequences, sequences.map((_, index) => index));
  assert.ok(sequences.length > 10 && receiver.came.every(({ headers }) => headers.authorization === "Bearer siem"));
  assert.ok(!(await page.content()).includes("Bearer siem"), "the secret is not shown");
  await see(page, "log-stream");
  await by(page, "Send test").click();
  await shows("The receiver accepted an event without an audit entry");

  // A receiver that refuses. The health appears by itself.
  Object.assign(receiver.answer, { status: 503, body: "<b>maintenance</b>" });
  await by(page, "Send test").click();
  await page.locator("[data-tested]").getByText("HTTP 503. <b>maintenance</b>").waitFor();
  await by(page, "Send again…").click();
  await page.locator("#from").fill("1.5");
  await by(page.locator("#resend"), "Send again").click();
  await page.locator('[data-wrong="from"]').getByText("Write a position").waitFor();
  await page.locator("#from").fill("0");
  await by(page.locator("#resend"), "Send again").click();
  await shows("The log stream continues at the new position.");
  await page.locator("[data-problem]").getByText("The receiver responded with HTTP 503.").waitFor();
  await page.locator("[data-state]").getByText("failing").waitFor();
  await see(page, "log-stream-failing");
  Object.assign(receiver.answer, { status: 200, body: "" });

  // Changes apply at once. A new receiver needs the secret again.
  await url.fill(`${receiver.url}?new`);
  await by(page, "Save log stream").click();
  await page.locator('[data-wrong="secret"]').getByText("Write it again").waitFor();
  await page.getByLabel("Value of the header (optional)").fill("Bearer other");
  await by(page, "Save log stream").click();
  await shows("Log stream saved.");
  await receiver.received(({ headers }) => headers.authorization === "Bearer other");
  await shows("All entries are sent.");
  await by(page, "Pause").click();
  await page.locator("[data-state]").getByText("paused").waitFor();
  await by(page, "Resume").click();
  await page.locator("[data-state]").getByText("on", { exact: true }).waitFor();

  await page.getByRole("link", { name: "Log streams" }).first().click();
  await shows("SIEM <b>main</b>");
  // The list shows the state of when it was read.
  const sent = page.getByText("All entries sent").first();
  const isShown = () => sent.waitFor({ timeout: 2000 }).then(() => true, () => false);
  for (let reads = 1; reads < 8 && !(await isShown()); reads += 1) await page.reload();
  await shows("All entries sent");
  await see(page, "log-streams");
  await page.getByRole("link", { name: "SIEM <b>main</b>" }).click();
  await by(page, "Remove log stream").click();
  await by(page.locator("#sure"), "Remove").click();
  await shows("Log stream removed.");
  await shows("No log streams yet");
  assert.deepEqual(complaints, []);
  receiver.close();
}
