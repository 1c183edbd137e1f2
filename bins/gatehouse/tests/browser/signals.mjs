// An administrator adds a receiver of shared signals, watches its stream, changes and removes it.
import assert from "node:assert/strict";
import { sink } from "./sink.mjs";

/** Runs the walk as this administrator. `see` checks a page, `by` finds a button. */
export async function signals({ page, complaints }, see, by) {
  const endpoint = await sink();
  const shows = (text) => page.getByText(text).first().waitFor();

  await page.getByRole("link", { name: "Shared signals" }).click();
  await shows("No receivers yet");
  const issuer = await page.locator("#issuer").textContent();
  await see(page, "signals-empty");

  // Errors appear at their fields.
  await page.getByRole("link", { name: "Add receiver" }).click();
  await page.waitForFunction(() => document.activeElement.id === "receiver-name");
  await page.getByLabel("Name", { exact: true }).fill("Payroll <b>main</b>");
  const audience = page.getByLabel("Audience", { exact: true });
  await audience.fill("with space");
  await by(page, "Add receiver").click();
  await page.locator('[data-wrong="audience"]').getByText("without spaces").waitFor();
  await audience.fill("https://payroll.example/");
  await page.getByLabel(/User or group changed/).uncheck();
  await see(page, "signal-new");
  await by(page, "Add receiver").click();
  await shows("It is not shown again.");
  const token = await page.locator("#made-token [data-token]").textContent();
  assert.match(token, /^ssf_/);
  await page.keyboard.press("Escape");
  await shows("It is not shown again.");
  await see(page, "signal-token");
  await by(page, "I saved the token").click();
  await page.waitForURL(/\?id=rcv_/);
  await shows("The receiver has not created its stream.");
  assert.ok(!(await page.content()).includes(token), "the token is shown only once");

  // The receiver creates its stream, and an event arrives.
  const api = new URL(issuer).origin;
  const configuration = await (await fetch(issuer.replace("/api/ssf/", "/.well-known/ssf-configuration/api/ssf/"))).json();
  const call = (bearer, body) => fetch(configuration.configuration_endpoint, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const made = await call(token, { delivery: { method: "urn:ietf:rfc:8935", endpoint_url: endpoint.url } });
  assert.equal(made.status, 201, `${api}: ${await made.clone().text()}`);
  const { stream_id: stream } = await made.json();
  Object.assign(endpoint.answer, { status: 400, body: JSON.stringify({ err: "invalid_key", description: "<b>unknown</b>" }) });
  await fetch(configuration.verification_endpoint, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ stream_id: stream }),
  });
  await page.locator("[data-problem]").getByText("The receiver responded with HTTP 400. invalid_key: <b>unknown</b>.").waitFor();
  await page.locator("[data-state]").getByText("failing").waitFor();
  await see(page, "signal-failing");
  Object.assign(endpoint.answer, { status: 202, body: "" });
  await page.locator("[data-state]").getByText("on", { exact: true }).waitFor();
  assert.equal(endpoint.came.at(-1).headers["content-type"], "application/secevent+jwt");

  await page.getByRole("radio", { name: "Email address" }).check();
  await by(page, "Save receiver").click();
  await shows("Receiver saved.");
  await by(page, "Disable").click();
  await page.locator("[data-state]").getByText("disabled").waitFor();
  await by(page, "Enable").click();
  await page.locator("[data-state]").getByText("on", { exact: true }).waitFor();
  await see(page, "signal");
  await by(page, "Replace token…").click();
  await by(page.locator("#sure"), "Replace token").click();
  await shows("It is not shown again.");
  await by(page, "I saved the token").click();
  assert.equal((await call(token, {})).status, 401);

  await page.getByRole("link", { name: "Shared signals" }).first().click();
  await shows("Payroll <b>main</b>");
  await by(page, "Rotate key…").click();
  await by(page.locator("#sure"), "Rotate key").click();
  await shows("Key rotated.");
  await see(page, "signals");
  await page.getByRole("link", { name: "Payroll <b>main</b>" }).click();
  await by(page, "Remove receiver").click();
  await by(page.locator("#sure"), "Remove").click();
  await shows("Receiver removed.");
  await shows("No receivers yet");
  assert.deepEqual(complaints, []);
  endpoint.close();
}
