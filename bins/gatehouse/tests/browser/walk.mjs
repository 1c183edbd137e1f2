// Browser tests of the pages. Arguments: see stage.mjs.
import assert from "node:assert/strict";
import { account } from "./account.mjs";
import { auditLog } from "./audit-log.mjs";
import { report, somebody } from "./eyes.mjs";
import { keyboard } from "./keyboard.mjs";
import { logStreams } from "./log-streams.mjs";
import { oidc } from "./oidc.mjs";
import { passkeys } from "./passkeys.mjs";
import { people } from "./people.mjs";
import { policies } from "./policies.mjs";
import { removals } from "./removals.mjs";
import { roles } from "./roles.mjs";
import { secure } from "./secure.mjs";
import { signals } from "./signals.mjs";
import { sink } from "./sink.mjs";
import { sso } from "./sso.mjs";
import { administrator, at, base, browser, by, facts, folder, only, see, signIn } from "./stage.mjs";
import { story } from "./story.mjs";
import { webhooks } from "./webhooks.mjs";
import { weights } from "./weights.mjs";

const walks = {
  "the story of a new server, from its first start to a revoked session": async () => {
    await story(browser, facts.story, see, by);
  },

  ...account,
  ...policies,

  "an administrator adds a webhook, tests it, retries a delivery and rotates the secret": async () => {
    await webhooks(await administrator(), see, by);
  },

  "an administrator adds an SSO connection, and a user signs in with it": async () => {
    await sso(await administrator(), see, by, () => somebody(browser, base), signIn);
  },

  "an administrator adds an SSO connection with OpenID Connect, and a user signs in with it": async () => {
    await oidc(await administrator(), see, by, () => somebody(browser, base), facts.certificate);
  },

  "an administrator sees the state of the organization": async () => {
    const { page, complaints } = await administrator();
    await page.goto("/settings");
    await page.getByRole("heading", { name: "Sign-ins in the last 7 days" }).waitFor();
    assert.equal(await page.locator(".week > li").count(), 7);
    assert.match(await page.locator(".week > li").last().innerText(), /^[1-9]/, "the sign-in of a moment ago");
    await page.getByRole("link", { name: "Staging" }).or(page.getByText("No problems found.")).first().waitFor();
    await see(page, "overview");
    await page.getByRole("link", { name: "Network", exact: true }).last().click();
    await at(page, "/settings/network");
    assert.deepEqual(complaints, []);
  },

  ...auditLog,

  "an administrator connects a directory over SCIM": async () => {
    const { page, complaints, confirm } = await administrator();
    await page.goto("/settings/sso");
    await page.getByRole("link", { name: "SCIM provisioning" }).click();
    await at(page, "/settings/scim");
    await by(page, "Add token").click();
    await page.locator("#scim-name").fill("Okta");
    await see(page, "scim-new");
    await by(page, "Create token").click();
    await confirm();
    await page.getByText("Your new SCIM token").waitFor();
    const token = await page.locator("[data-token]").textContent();
    await see(page, "scim-token");
    await by(page, "Done").click();
    const row = page.locator('[data-part="tokens"] li').filter({ hasText: "Okta" });
    await row.getByText("waiting for the first request").waitFor();
    await by(page, "Copy SCIM connector base URL").click();
    const endpoint = await page.evaluate(() => navigator.clipboard.readText());
    // The first requests of Okta: it looks the user up, then creates it. The page shows them without a reload.
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/scim+json" };
    const found = await fetch(`${endpoint}/Users?${new URLSearchParams({ filter: 'userName eq "okta@works.example"', startIndex: 1, count: 100 })}`, { headers });
    assert.equal((await found.json()).totalResults, 0);
    await row.getByText("last request").waitFor({ timeout: 30_000 });
    const create = () => fetch(`${endpoint}/Users`, { method: "POST", headers, body: JSON.stringify({ userName: "okta@works.example", externalId: "00u1", active: true }) });
    assert.equal((await create()).status, 201);
    assert.equal((await create()).status, 409);
    await page.locator('[data-part="changes"]').getByText("A user was created.").first().waitFor();
    await page.locator('[data-part="refusals"] li').filter({ hasText: "okta@works.example" }).getByText("409 uniqueness").waitFor({ timeout: 30_000 });
    await see(page, "scim");
    await page.getByRole("radio", { name: "Microsoft Entra ID" }).check();
    await page.getByText("Tenant URL").waitFor();
    await see(page, "scim-entra");
    await row.getByRole("button", { name: "Rotate Okta" }).click();
    await page.getByText("Both work until then.").waitFor();
    assert.equal(await page.locator("#scim-name").inputValue(), "Okta");
    await page.keyboard.press("Escape");
    await row.getByRole("button", { name: "Revoke Okta" }).click();
    await by(page.locator("#sure"), "Revoke").click();
    await row.waitFor({ state: "detached" });
    assert.equal((await create()).status, 401);
    assert.deepEqual(complaints, []);
  },

  "an administrator manages people": async () => {
    await people(await administrator(), see, by, facts.scim, () => somebody(browser, base));
  },

  "an administrator defines a role and gives it to a group": async () => {
    await roles(await administrator(), see, by, facts.scim);
  },

  "use passkeys of other devices, and forget removed ones": async () => {
    await passkeys(browser, base, signIn, see, by);
  },

  "keep a session on its device, and use a passkey at a related origin": async () => {
    await secure(facts.secure, facts.password, see);
  },

  "an administrator streams the audit log": async () => {
    await logStreams(await administrator(), see, by);
  },

  "an administrator permits a service to receive signals": async () => {
    await signals(await administrator(), see, by);
  },

  "decide about the removals of a directory that removes too many users": async () => {
    await removals(await administrator(), see, by, facts.scim);
  },

  "pages are light and show their content at once": async () => {
    await weights(await administrator());
  },

  "an administrator does the main tasks by keyboard alone": async () => {
    const receiver = await sink();
    await keyboard(await administrator(), receiver.url);
    receiver.close();
  },

  "redirects stay on this server, and errors have their own pages": async () => {
    const { context, page, complaints, count } = await somebody(browser, base);
    await signIn(page, "dave@example.com", facts.password, "/auth/login?next=https://evil.example/");
    await at(page, "/account/security");
    await page.goto("/no/such/page");
    await page.getByText("Page not found").waitFor();
    await see(page, "nothing");
    await page.goto("/developers");
    await see(page, "developers");
    // The same server under a different address.
    const elsewhere = base.replace("localhost", "127.0.0.1");
    await page.goto(`${elsewhere}/auth/login`);
    await page.locator("#elsewhere").getByText("This page was opened under a different address.").waitFor();
    await see(page, "elsewhere");
    assert.ok(count("/api/auth/passkey/options", 403) <= 3, "a refused request is not repeated");
    assert.deepEqual(complaints, []);
    await context.close();
  },
};

try {
  for (const [name, walk] of Object.entries(walks).filter(([name]) => name.includes(only))) {
    const start = Date.now();
    await walk();
    console.log(`  ok ${((Date.now() - start) / 1000).toFixed(1)} s  ${name}`);
  }
} catch (error) {
  await report(folder);
  throw error;
} finally {
  await browser.close();
}
