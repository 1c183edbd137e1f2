// An administrator trusts a transmitter of shared signals, whose events end the session of a user.
import assert from "node:assert/strict";

const CAEP = "https://schemas.openid.net/secevent/caep/event-type";
const SSF = "https://schemas.openid.net/secevent/ssf/event-type";

/** Runs the walk as this administrator. `provider` is the transmitter, and `user` has a session through it. */
export async function transmitters({ page, confirm }, see, by, provider, user) {
  const shows = (text) => page.getByText(text).first().waitFor();
  await page.getByRole("link", { name: "Transmitters", exact: true }).click();
  await shows("No transmitters yet");
  await see(page, "transmitters-empty");

  // Errors appear at their fields.
  await page.getByRole("link", { name: "Add transmitter" }).click();
  await page.waitForFunction(() => document.activeElement.id === "transmitter-name");
  await page.getByLabel("Name", { exact: true }).fill("Elsewhere <b>");
  const issuer = page.getByLabel("Issuer", { exact: true });
  await issuer.fill("http://elsewhere.example");
  await page.getByLabel("Session revoked").selectOption("END_SESSIONS");
  await by(page, "Add transmitter").click();
  await confirm();
  await page.locator('[data-wrong="issuer"]').getByText("https URL").waitFor();
  await see(page, "transmitter-new");
  await issuer.fill(provider.issuer);
  await by(page, "Add transmitter").click();
  await shows("It is not shown again.");
  const authorization = await page.locator("#made-token [data-token]").textContent();
  assert.match(authorization, /^Bearer push_/);
  await see(page, "transmitter-token");
  await by(page, "I saved the value").click();
  await page.waitForURL(/\?id=trm_/);
  await page.locator("[data-state]").getByText("no event yet").waitFor();
  const endpoint = await page.locator("#endpoint").textContent();
  const state = await page.locator("#state").textContent();
  const audience = await page.getByLabel("Audience", { exact: true }).inputValue();

  // The transmitter verifies the stream, pauses it, and ends the session of a user.
  const post = (type, subject, event, header = authorization) => fetch(endpoint, {
    method: "POST",
    headers: { authorization: header, "content-type": "application/secevent+jwt" },
    body: provider.signal(audience, type, subject, event),
  });
  const stream = { format: "opaque", id: "stream" };
  const refused = await post(`${SSF}/verification`, stream, { state: "another" });
  assert.deepEqual([refused.status, (await refused.json()).err], [400, "invalid_state"]);
  assert.equal((await post(`${SSF}/verification`, stream, { state })).status, 202);
  await page.locator("[data-state]").getByText("on", { exact: true }).waitFor();
  assert.equal((await post(`${SSF}/stream-updated`, stream, { status: "paused", reason: "<b>Maintenance</b>" })).status, 202);
  await shows("paused: <b>Maintenance</b>");
  await see(page, "transmitter-paused");
  assert.equal((await post(`${SSF}/stream-updated`, stream, { status: "enabled" })).status, 202);
  await page.locator("[data-state]").getByText("on", { exact: true }).waitFor();
  const subject = { format: "iss_sub", iss: provider.issuer, sub: "lena@openid.example" };
  assert.equal((await post(`${CAEP}/session-revoked`, subject, {})).status, 202);
  await user.page.goto("/account/security");
  await user.page.waitForURL((url) => url.pathname === "/auth/login");

  // Changes, and the audit log.
  await page.getByLabel("Device no longer compliant").selectOption("REQUIRE_STEP_UP");
  await by(page, "Save transmitter").click();
  await confirm();
  await shows("Transmitter saved.");
  await by(page, "Replace token…").click();
  await by(page.locator("#sure"), "Replace token").click();
  await confirm();
  await shows("It is not shown again.");
  await by(page, "I saved the value").click();
  assert.equal((await post(`${CAEP}/session-revoked`, subject, {})).status, 400, "the previous header is refused");
  await by(page, "Disable").click();
  await confirm();
  await page.locator("[data-state]").getByText("disabled").waitFor();
  await page.goto("/settings/transmitters");
  await shows("disabled");
  await see(page, "transmitters");
  await page.getByRole("link", { name: "Elsewhere <b>" }).click();
  await page.locator("[data-state]").getByText("disabled").waitFor();
  await by(page, "Remove transmitter").click();
  await by(page.locator("#sure"), "Remove").click();
  await confirm();
  await shows("Transmitter removed.");
  await shows("No transmitters yet");
}
