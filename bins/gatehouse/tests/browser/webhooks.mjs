// An administrator adds, tests, changes and removes a webhook.
import assert from "node:assert/strict";
import { changeEmbedded } from "./embedded.mjs";
import { isSigned, sink } from "./sink.mjs";

const hostile = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';

/** Runs the walk as this administrator. `see` checks a page, `by` finds a button. */
export async function webhooks({ page, complaints, confirm }, see, by) {
  const receiver = await sink();
  const shows = (text) => page.getByText(text).first().waitFor();
  const tests = () => receiver.came.filter(({ headers }) => headers["x-service-event-type"] === "service.webhook.test");
  /** Causes an event. */
  const happen = (name) => page.evaluate(async (displayName) => {
    const body = JSON.stringify({ displayName });
    const answer = await fetch("/api/me", { method: "PATCH", headers: { "Content-Type": "application/json" }, body });
    if (!answer.ok) throw new Error(String(answer.status));
  }, name);

  await page.getByRole("link", { name: "Webhooks" }).click();
  await shows("No webhooks yet");
  await see(page, "webhooks-empty");

  // Errors appear at their fields.
  await page.getByRole("link", { name: "Add webhook" }).click();
  const url = page.getByLabel("URL", { exact: true });
  const name = page.getByLabel("Name", { exact: true });
  await page.waitForFunction(() => document.activeElement.id === "hook-name");
  await see(page, "webhook-new-everything");
  await name.fill("SIEM <b>main</b>");
  await url.fill("http://10.0.0.1/hooks");
  await by(page, "Add webhook").click();
  await page.locator('[data-wrong="url"]').getByText("public addresses only").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "hook-url");
  await url.fill(receiver.url);

  // Events: a group, one of another group, and a pattern.
  await page.getByLabel("Selected events").check();
  await shows("No events selected yet.");
  await by(page, "Add webhook").click();
  await page.locator('[data-wrong="eventFilters"]').getByText("Select at least one event").waitFor();
  await see(page, "webhook-new-refused");
  const sent = page.locator("[data-filters]");
  const find = page.getByLabel("Find an event");
  await find.fill("nothing like this");
  await shows("No events match your search.");
  await find.fill("users");
  await page.getByRole("checkbox", { name: /^Users all/ }).check();
  assert.equal(await sent.textContent(), '["ACCOUNT_USER_*"]');
  await page.getByRole("checkbox", { name: /^ACCOUNT_USER_DELETED/ }).uncheck();
  assert.match(await sent.textContent(), /"ACCOUNT_USER_CREATED"/);
  assert.doesNotMatch(await sent.textContent(), /ACCOUNT_USER_DELETED|\*/);
  await page.getByRole("checkbox", { name: /^Users all/ }).check();
  await find.fill("session revoked");
  await page.getByRole("checkbox", { name: /^ACCOUNT_SESSION_REVOKED/ }).check();
  const pattern = page.getByLabel("Custom pattern");
  await pattern.fill("ACCOUNT-*");
  await page.keyboard.press("Enter");
  await page.locator('[data-wrong="eventFilters"]').getByText("Write 1 to 128 characters of").waitFor();
  for (const text of ["ACCOUNT_FUTURE_*", "*_REVOKED"]) {
    await pattern.fill(text);
    await page.keyboard.press("Enter");
  }
  await shows("matches no current type");
  await find.fill("revoked");
  assert.ok((await page.getByText("matched by *_REVOKED").count()) > 0);
  await find.fill("");
  assert.equal(await sent.textContent(), '["ACCOUNT_USER_*", "ACCOUNT_SESSION_REVOKED", "ACCOUNT_FUTURE_*", "*_REVOKED"]');
  await see(page, "webhook-new");

  // The secret is shown once.
  await by(page, "Add webhook").click();
  const secretDialog = page.locator("#secret");
  await shows("It is not shown again.");
  await shows("may be wrong");
  const secret = await page.locator("[data-secret]").textContent();
  assert.match(secret, /^whsec_/);
  await see(page, "webhook-secret");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  assert.ok(await secretDialog.isVisible(), "Escape would lose it");
  await by(page, "Copy secret").click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  await by(page, "I saved the secret").click();
  await shows("No deliveries yet.");
  assert.match(page.url(), /\?id=whk_/);
  const own = page.url();
  await page.reload();
  await shows("No deliveries yet.");
  assert.ok(!(await page.content()).includes(secret), "the secret is gone");
  await see(page, "webhook-fresh");

  // A test: its response, and its signature.
  Object.assign(receiver.answer, { status: 200, body: hostile });
  await by(page, "Send test").click();
  await shows("The receiver accepted the event.");
  assert.equal(await page.locator("[data-answered] pre").textContent(), hostile);
  const [tested] = tests();
  assert.ok(isSigned(tested, secret));
  assert.ok(!isSigned(tested, `${secret}x`));
  await see(page, "webhook-test");
  Object.assign(receiver.answer, { status: 302, body: "" });
  await by(page, "Send test").click();
  await shows("redirects are not followed");
  for (const [error, words] of [["BLOCKED", "deliveries to this address are not allowed"], ["TIMEOUT", "no complete response within 15 seconds"], ["CONNECT", "the connection failed"], ["TLS", "the certificate is not trusted"]]) {
    await page.route("**/test", (route) => route.fulfill({ json: { httpStatus: null, body: null, elapsedMs: 1234, error } }));
    await by(page, "Send test").click();
    await shows(words);
    await page.unrouteAll();
  }
  await see(page, "webhook-test-failed");
  await page.route("**/test", (route) => route.fulfill({ status: 429, headers: { "Retry-After": "40" }, json: { code: "RATE_LIMITED", error: "too many" } }));
  await by(page, "Send test").click();
  await shows(/^Your organization reached the limit of ten tests per minute\. Try again in 40 seconds\.$/);
  await page.unrouteAll();

  // A delivery that fails and is sent again by hand. Both attempts appear without a reload.
  Object.assign(receiver.answer, { status: 500, body: hostile });
  await happen("Hana <i>");
  await by(page, "Refresh").click();
  const rows = page.locator("[data-deliveries] > li");
  await rows.filter({ hasText: "failed" }).filter({ hasText: "HTTP 500" }).first().waitFor();
  await page.locator("[data-bars] > *").last().waitFor();
  const failed = rows.filter({ hasText: "first attempt" });
  await failed.locator("summary").focus();
  await page.keyboard.press("Enter");
  await failed.getByText('"type": "ACCOUNT_USER_UPDATED"').waitFor();
  assert.ok((await failed.getByLabel("Response body").textContent()) === hostile);
  await see(page, "webhook-failed");
  await by(failed, "Copy signed request body").click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(receiver.came.some(({ body }) => body === copied));
  Object.assign(receiver.answer, { status: 202, body: "taken" });
  await failed.getByRole("button", { name: "Send again" }).click();
  await rows.filter({ hasText: "succeeded" }).filter({ hasText: "HTTP 202" }).first().waitFor();
  assert.ok(receiver.came.every((request) => isSigned(request, secret)));
  assert.ok(await failed.getByText('"type": "ACCOUNT_USER_UPDATED"').isVisible(), "expanded rows stay expanded");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.act), "again");
  assert.match(await failed.getAttribute("class"), /earlier/, "the attempts of an event are together");
  assert.notEqual(await page.title(), "owned");
  await see(page, "webhook");

  // Filter by status, by keyboard.
  await page.getByRole("radio", { name: "All" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("[data-found]").getByText(/^1 of [0-9]+ attempts succeeded\.$/).waitFor();
  assert.equal(await rows.filter({ hasText: "HTTP 500", visible: true }).count(), 0);
  await page.getByRole("radio", { name: "Pending" }).check({ force: true });
  await shows("No attempts are pending.");
  await page.getByRole("radio", { name: "All" }).check({ force: true });
  await page.getByLabel("Find an event").fill("no_such_event");
  await shows("No attempts match.");
  await page.getByLabel("Find an event").fill("user_upd");
  await page.locator("[data-found]").getByText(/^[1-9][0-9]* of [0-9]+ attempts match\.$/).waitFor();
  await page.getByLabel("Find an event").fill("");

  // Replay all events.
  await by(page, "Replay…").click();
  const replay = page.locator("#replay");
  await replay.getByLabel("Until").fill("2020-01-01T00:00");
  await by(replay, "Replay").click();
  await replay.locator('[data-wrong="from"]').getByText("before").waitFor();
  await replay.getByLabel("Until").fill("");
  await by(replay, "Replay").click();
  await replay.getByText(/delivered again\.$/).waitFor();
  await see(page, "webhook-replay");
  await page.route("**/replay", (route) => route.fulfill({ json: { replayed: 1000, nextFrom: "2026-01-31T09:30:00.123Z" } }));
  await by(replay, "Replay").click();
  await replay.getByText("The oldest 1,000 events of this time range will be delivered again. Continue to replay the others.").waitFor();
  await page.unrouteAll();
  const asked = page.waitForRequest("**/replay");
  await by(replay, "Continue").click();
  assert.equal((await asked).postDataJSON().from, "2026-01-31T09:30:00.123Z");
  await replay.getByText(/delivered again\.$/).waitFor();
  await by(replay, "Close").click();
  await page.getByRole("radio", { name: "All" }).check({ force: true });

  // Pause and resume.
  await by(page, "Pause").click();
  await shows("New events are not delivered");
  await see(page, "webhook-paused");
  await failed.getByRole("button", { name: "Send again" }).click();
  await failed.getByText("The webhook is not on; resume it").waitFor();
  await by(page, "Resume").click();
  await shows("Pending deliveries are sent now.");
  assert.equal(await page.locator("[data-why]:visible").count(), 0);

  // Change the settings.
  await page.getByRole("link", { name: "Settings" }).click();
  await page.locator("[name=url]").filter({ visible: true }).waitFor();
  const save = by(page, "Save webhook");
  await page.waitForFunction(() => document.querySelector("[name=name]").value !== "");
  assert.equal(await save.getAttribute("aria-disabled"), "true");
  await see(page, "webhook-settings");
  await url.fill("https://user:pass@example.com/");
  await save.click();
  await page.locator('[data-wrong="url"]').getByText("user name or password").waitFor();
  await by(page, "Discard changes").click();
  assert.equal(await url.inputValue(), receiver.url);
  const ordered = page.getByLabel("Deliver the events of each user in order");
  for (const wanted of [true, false]) {
    await ordered.setChecked(wanted);
    await save.click();
    await shows("Webhook saved.");
    await page.reload();
    await page.waitForFunction(() => document.querySelector("[name=name]").value !== "");
    assert.equal(await ordered.isChecked(), wanted);
  }
  await name.fill("SIEM");
  await by(page, "Remove ACCOUNT_FUTURE_*").click();
  await save.click();
  await shows("Webhook saved.");
  await page.getByRole("heading", { name: /^SIEM on/ }).waitFor();
  assert.equal(await page.getByText("may be wrong").count(), 0);

  // Rotate the secret after a step-up. Deliveries carry both signatures until the rotation is completed.
  await by(page, "Rotate secret").click();
  const rotate = page.locator("#rotate");
  await rotate.getByLabel("Overlap in hours").fill("200");
  await by(rotate, "Rotate").click();
  await confirm();
  await rotate.getByText("Write a number from 0 to 168").waitFor();
  await rotate.getByLabel("Overlap in hours").fill("24");
  await see(page, "webhook-rotate");
  await by(rotate, "Rotate").click();
  // The invalid request did not consume the step-up token.
  await secretDialog.getByRole("heading", { name: "New signing secret" }).waitFor();
  const newer = await page.locator("[data-secret]").textContent();
  assert.match(newer, /^whsec_/);
  assert.notEqual(newer, secret);
  await see(page, "webhook-rotated");
  await by(page, "I saved the secret").click();
  await shows("Rotation in progress");
  receiver.came.splice(0);
  await by(page, "Send test").click();
  await shows("The receiver accepted the event.");
  const [both] = tests();
  assert.ok(isSigned(both, secret) && isSigned(both, newer, "x-service-signature-next"));
  await by(page, "Close test").click();
  await see(page, "webhook-rotating");
  await by(page, "Rotate secret").click();
  await by(rotate, "Rotate").click();
  await confirm();
  await rotate.getByText("A rotation is in progress; complete it first").waitFor();
  await by(rotate, "Cancel").click();
  await by(page, "Complete rotation").click();
  await by(page.locator("#sure"), "Complete rotation").click();
  await page.getByText("to rotate a webhook's signing secret").waitFor();
  await confirm();
  await shows("Rotation completed.");
  receiver.came.splice(0);
  await by(page, "Send test").click();
  await shows("The receiver accepted the event.");
  const [alone] = tests();
  assert.ok(isSigned(alone, newer) && alone.headers["x-service-signature-next"] === undefined);

  // A long list and a busy day.
  const day = (at) => new Date(Math.floor(Date.now() / 3_600_000 - at) * 3_600_000).toISOString();
  const busy = Array.from({ length: 24 }, (_, at) => ({ hour: day(23 - at), succeeded: (at * at * 37) % 500, failed: at % 7 === 3 ? 60 : 0 }));
  await page.route("**/activity", (route) => route.fulfill({ json: { hours: busy } }));
  await page.goto(own);
  await page.locator("[data-bars] > *").last().waitFor();
  await page.getByText("Hour by hour").click();
  await see(page, "webhook-activity");
  await changeEmbedded(page, /\/settings\/webhooks$/, "/api/settings/webhooks", ({ subscriptions: [first] }) => {
    const others = [
      { name: "Data warehouse", url: "https://warehouse.example.com/ingest/gatehouse/a-long-path-with-a-token-in-it-0123456789abcdef", eventFilters: ["*"] },
      { name: "Slack, security", url: "https://hooks.example.com/T000/B000", eventFilters: ["ACCOUNT_SIGN_IN_*", "ACCOUNT_SESSION*", "ACCOUNT_FACTOR_*", "ACCOUNT_PAT_*"], enabled: false },
      { name: "Old HR system", url: "https://hr.example.com/hooks", enabled: false, disabledReason: "GONE" },
      { name: "Staging", url: "https://staging.example.com/hooks", enabled: false, disabledReason: "FAILING" },
    ];
    return { subscriptions: [first, ...others.map((other, at) => ({ ...first, id: `${first.id.slice(0, -1)}${at}`, ...other }))] };
  });
  await page.goto("/settings/webhooks");
  await shows("5 webhooks, 2 disabled.");
  await page.getByText("in 24 hours").nth(4).waitFor();
  await see(page, "webhooks");
  await page.unrouteAll();

  // Remove the webhook.
  await page.goto(`${own}&view=settings`);
  await by(page, "Remove webhook").click();
  await page.getByText("This cannot be undone.").waitFor();
  await see(page, "webhook-remove");
  await by(page.locator("#sure"), "Remove").click();
  await shows("Webhook removed.");
  await shows("No webhooks yet");
  await page.goto(own);
  await shows("Page not found");
  await page.goto("/settings/webhooks");
  receiver.close();
  assert.deepEqual(complaints, []);
}
