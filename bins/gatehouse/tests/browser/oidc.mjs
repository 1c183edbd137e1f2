// An administrator adds an SSO connection with OpenID Connect, and a user signs in through it.
import assert from "node:assert/strict";
import { openid } from "./openid.mjs";
import { transmitters } from "./transmitters.mjs";

const hostile = '<img src=x onerror="document.title=\'owned\'">';

/** Runs the walk as this administrator; `see` checks a page, `by` finds a button, `stranger` opens another user's browser. */
export async function oidc({ page, complaints, confirm }, see, by, stranger, certificate) {
  const other = await openid(certificate);
  const shows = (text, on = page) => on.getByText(text).first().waitFor();
  const link = (name, on = page) => on.getByRole("link", { name, exact: true });
  const tab = (name) => link(name, page.getByRole("navigation", { name: "SSO connection" })).click();
  const add = () => by(page, "Add SSO connection").click();
  const wrong = (name, text) => page.locator(`[data-wrong="${name}"]`).getByText(text).waitFor();

  await page.goto("/settings/sso");
  await link("Add SSO connection").click();
  await link("OpenID Connect").click();
  await shows("The redirect URI that your identity provider needs appears after");
  await see(page, "oidc-new");
  for (const name of ["Microsoft Entra ID", "Google", "Keycloak"]) await page.getByText(name, { exact: true }).click();

  // Errors appear at their fields.
  await add();
  await wrong("name", "Enter a name");
  await page.getByLabel("Name", { exact: true }).fill("Elsewhere <b>");
  await page.getByLabel("Email domains").fill("openid.example");
  await page.getByLabel("Issuer", { exact: true }).fill(`${other.issuer}/other`);
  await page.getByLabel("Client ID", { exact: true }).fill("gatehouse");
  await add();
  await wrong("clientSecret", "Enter the client secret");
  await page.getByLabel("Client secret", { exact: true }).fill("a secret");
  await add();
  await confirm();
  await wrong("issuer", "404");
  await page.locator("summary").filter({ hasText: "Advanced" }).click();
  await see(page, "oidc-new-refused");
  await page.getByLabel("Issuer", { exact: true }).fill(other.issuer);
  await add();

  // The setup guide with the values of the connection.
  await shows("Steps 1 to 4 are done.");
  const own = new URL(page.url()).searchParams.get("provider");
  assert.match(own, /^oidc_/);
  await page.getByRole("button", { name: /^Copy .*redirect URI/i }).first().click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, `${new URL(page.url()).origin}/api/oidc/${own}/callback`);
  await see(page, "oidc-setup");
  await tab("Overview");
  await page.locator(".domain").filter({ hasText: /openid\.example verified/ }).waitFor();
  await see(page, "oidc-provider");

  // Connection tests that pass and fail. Neither signs a user in.
  const test = async () => {
    await page.locator('[data-act="test"]').click();
    await link("Continue to Elsewhere <b>").click();
    await page.waitForURL(/test=try_/);
    await shows("Nobody was signed in.");
  };
  Object.assign(other.claims, { email: "lena@openid.example", name: hostile });
  await test();
  await shows("The test passed:");
  assert.equal(await page.locator("tr").filter({ hasText: hostile }).locator("td").textContent(), hostile);
  assert.notEqual(await page.title(), "owned");
  await see(page, "oidc-report-passed");
  other.claims.email_verified = false;
  await test();
  await page.locator('[data-check="EMAIL"]').getByText("EMAIL_NOT_VERIFIED").waitFor();
  await see(page, "oidc-report-failed");
  delete other.claims.email_verified;

  // The settings keep the secret, and switch to a private key, which is rotated.
  await tab("Settings");
  await page.waitForFunction(() => document.querySelector("[name=issuer]").value !== "");
  assert.equal(await page.getByLabel("Client secret", { exact: true }).inputValue(), "");
  await page.getByLabel("Scopes", { exact: true }).fill("email");
  await by(page, "Save connection").click();
  await confirm();
  await shows("SSO connection saved.");
  await see(page, "oidc-settings");
  await page.getByText("Private key", { exact: false }).first().click();
  await by(page, "Save connection").click();
  await confirm();
  await shows("SSO connection saved.");
  await tab("Overview");
  await by(page, "Rotate key").click();
  await by(page.locator("#sure"), "Rotate").click();
  await confirm();
  await shows("A rotation is in progress.");
  await see(page, "oidc-rotation");
  await by(page, "Complete rotation").click();
  await by(page.locator("#sure"), "Complete").click();
  await confirm();
  await shows("The new key is active.");

  // A user signs in: by address, then with a refusal.
  const lena = await stranger();
  await lena.page.goto("/auth/login?next=/account/security");
  await lena.page.getByLabel("Email").fill("lena@openid.example");
  await by(lena.page, "Sign in with single sign-on").click();
  await lena.page.waitForURL((url) => url.pathname === "/account/security");
  await shows("lena@openid.example", lena.page);
  await transmitters({ page, confirm }, see, by, other, lena);
  await lena.context.clearCookies();
  other.claims.email = "nobody@openid.example";
  await lena.page.goto("/auth/login?tenant=works");
  await lena.page.getByRole("link", { name: "Continue with Elsewhere" }).click();
  await lena.page.getByText("NOT_PROVISIONED").waitFor();
  await see(lena.page, "oidc-refused");
  await lena.context.close();

  // The list, and removal.
  await page.goto("/settings/sso");
  await shows("OpenID Connect");
  await see(page, "oidc-list");
  await link("Elsewhere <b>").click();
  await tab("Settings");
  await page.waitForFunction(() => document.querySelector("[name=name]").value !== "");
  await by(page, "Remove SSO connection").click();
  await by(page.locator("#sure"), "Remove").click();
  await confirm();
  await shows("SSO connection removed.");
  other.close();
  assert.deepEqual([...complaints, ...lena.complaints], []);
}
