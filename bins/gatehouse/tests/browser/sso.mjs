// An administrator adds an SSO connection, and a user signs in through it.
import assert from "node:assert/strict";
import { changeEmbedded } from "./embedded.mjs";
import { authenticator, signOut } from "./eyes.mjs";
import { idp } from "./idp.mjs";

const hostile = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
const MAIL = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress";

/** Runs the walk as this administrator; `see` checks a page, `by` finds a button, `stranger` opens another user's browser. */
export async function sso({ page, complaints, confirm }, see, by, stranger, signIn) {
  const other = await idp();
  const shows = (text, on = page) => on.getByText(text).first().waitFor();
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const link = (name, on = page) => on.getByRole("link", { name, exact: true });
  const tab = (name) => link(name, page.getByRole("navigation", { name: "SSO connection" })).click();

  await page.getByRole("link", { name: "Identity and SSO" }).click();
  await shows("No SSO connections yet");
  await see(page, "sso-empty");

  // The setup steps before the connection exists.
  await link("Add SSO connection").click();
  await shows("Enter these placeholders; step 5");
  await by(page, "Copy Audience URI (SP Entity ID)").click();
  assert.match(await clipboard(), /\/api\/saml\/placeholder\/metadata$/);
  await see(page, "sso-new");
  await page.getByRole("radio", { name: "Microsoft Entra ID" }).focus();
  await page.keyboard.press("ArrowRight");
  await shows("relying party or a client");
  assert.equal(await page.getByText("In the Okta Admin Console").first().isVisible(), false);

  // Errors appear at their fields.
  await by(page, "Add SSO connection").click();
  await page.locator('[data-wrong="name"]').getByText("Enter a name").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Elsewhere <b>");
  await page.getByLabel("Email domains").fill("corp.example, not a domain");
  await by(page, "Add SSO connection").click();
  await page.locator('[data-wrong="metadataUrl"]').getByText("Enter the metadata URL").waitFor();
  await page.getByText("Manual entry", { exact: true }).click();
  await page.getByLabel("Entity ID of the identity provider").fill(other.issuer);
  await page.getByLabel("Single sign-on URL of the identity provider").fill(other.sso);
  await page.getByLabel("Signing certificates").fill("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----");
  await by(page, "Add SSO connection").click();
  await confirm();
  await page.locator('[data-wrong="emailDomains"]').filter({ hasText: /./ }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "sso-domains");
  await page.getByLabel("Email domains").fill("corp.example, branch.example");
  await by(page, "Add SSO connection").click();
  await page.locator('[data-wrong="certificates"]').getByText("Certificate 1: ").waitFor();
  await see(page, "sso-new-refused");
  await page.getByLabel("Signing certificates").fill("");
  await page.locator('[data-into="certificates"]').setInputFiles({ name: "idp.pem", mimeType: "application/x-pem-file", buffer: Buffer.from(other.cert) });
  await shows("1 certificate.");
  await by(page, "Add SSO connection").click();

  // The setup guide with the values of the connection.
  await shows("Steps 1 to 4 are done.");
  await shows("Elsewhere <b>");
  await shows("Many identity providers import them all from our metadata URL.");
  const own = new URL(page.url()).searchParams.get("provider");
  assert.match(own, /^sso_/);
  await by(page, "Copy ACS URL, reply URL, recipient, destination (HTTP-POST)").click();
  assert.equal(await clipboard(), `${new URL(page.url()).origin}/api/saml/${own}/acs`);
  await see(page, "sso-setup");
  for (const name of ["Okta", "Microsoft Entra ID"]) {
    await page.getByText(name, { exact: true }).click();
    await see(page, `sso-setup-${name.split(" ").at(-1).toLowerCase() === "id" ? "entra" : "okta"}`);
  }
  const [file] = await Promise.all([page.waitForEvent("download"), link("Download our certificate").click()]);
  assert.equal(file.suggestedFilename(), "gatehouse-saml.pem");

  // The overview: one domain is verified, the other is not, and the certificate expires soon.
  await tab("Overview");
  await page.locator(".domain").filter({ hasText: "branch.example not verified" }).waitFor();
  await page.locator(".domain").filter({ hasText: /corp\.example verified/ }).waitFor();
  await shows("certificate expires soon");
  await page.getByText("Fingerprint (SHA-256)").first().click();
  await see(page, "sso-provider");

  // Connection tests that fail and pass. Neither signs a user in.
  const test = async () => {
    await page.locator('[data-act="test"]').click();
    await link("Continue to Elsewhere <b>").click();
    await page.waitForURL(/test=try_/);
    await shows("Nobody was signed in.");
  };
  Object.assign(other.answer, { signed: false, email: "kim@corp.example", attributes: { [MAIL]: "kim@corp.example", displayName: hostile } });
  await by(page, "Test connection").click();
  await shows("Configuration checks");
  await see(page, "sso-test");
  await link("Continue to Elsewhere <b>").click();
  await page.locator('[data-check="SIGNATURE"]').getByText("UNSIGNED").waitFor();
  await page.locator('[data-check="ACCOUNT"]').getByText("not reached").waitFor();
  await see(page, "sso-report-failed");
  other.answer.signed = true;
  await test();
  await shows("The test passed:");
  await page.locator("tr").filter({ hasText: MAIL }).getByText("kim@corp.example").waitFor();
  assert.equal(await page.locator("tr").filter({ hasText: "displayName" }).locator("td").textContent(), hostile);
  assert.notEqual(await page.title(), "owned");
  await see(page, "sso-report-passed");
  other.answer.email = "nobody@corp.example";
  await test();
  await page.locator('[data-check="ACCOUNT"]').getByText("NOT_PROVISIONED").waitFor();
  await see(page, "sso-report-nobody");
  other.answer.email = "kim@corp.example";

  // The setup guide waits for the response while the identity provider is open in another tab.
  await tab("Setup guide");
  await by(page, "Test connection").click();
  const [signingIn] = await Promise.all([page.context().waitForEvent("page"), link("Continue to Elsewhere <b>").click()]);
  await signingIn.getByText("Nobody was signed in.").first().waitFor();
  await signingIn.close();
  await page.bringToFront();
  await page.getByText(/^Received a response .*The connection works\. Nobody was signed in\.$/).waitFor();
  await see(page, "sso-setup-tested");
  await tab("Overview");

  // A test that waits, and one that expired.
  const [begun] = await Promise.all([page.waitForResponse((answer) => answer.url().endsWith("/test")), page.locator('[data-act="test"]').click()]);
  const waiting = `/settings/sso?${new URLSearchParams({ provider: own, test: (await begun.json()).id })}`;
  await page.goto(waiting);
  await shows("Waiting for a response");
  await see(page, "sso-test-waiting");
  await page.route("**/tests/*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), status: "EXPIRED" } });
  });
  await page.goto(waiting);
  await shows("timed out without a response");
  await page.unrouteAll();

  // Rotation of our certificate.
  await page.goto(`/settings/sso?provider=${own}`);
  await by(page, "Rotate certificate").click();
  await by(page.locator("#sure"), "Rotate").click();
  await page.getByText("to change SSO connections and domains").waitFor();
  await confirm();
  await shows("A rotation is in progress");
  assert.equal(await page.locator("[data-ours] > li").count(), 2);
  await see(page, "sso-rotating");
  await by(page, "Complete rotation").click();
  await by(page.locator("#sure"), "Complete").click();
  await confirm();
  await shows("The new certificate is active.");
  assert.equal(await page.locator("[data-ours] > li").count(), 1);

  // Switch to the metadata URL, and refresh it.
  await tab("Settings");
  const save = by(page, "Save connection");
  await page.waitForFunction(() => document.querySelector("[name=name]").value !== "");
  assert.equal(await save.getAttribute("aria-disabled"), "true");
  await see(page, "sso-settings");
  await page.getByText("Metadata URL", { exact: true }).first().click();
  await page.getByRole("textbox", { name: "Metadata URL" }).fill(other.metadata);
  await page.getByLabel("Name", { exact: true }).fill("Elsewhere");
  await save.click();
  await confirm();
  await shows("SSO connection saved.");
  await shows(`From the metadata URL ${other.metadata}, with 1 certificate.`);
  await tab("Overview");
  await by(page, "Refresh metadata").click();
  await shows("Metadata refreshed.");

  // The list of connections, and the domains.
  await page.goto("/settings/sso");
  await shows("1 SSO connection.");
  const branch = page.locator('[data-domains] [data-id="branch.example"]');
  await by(branch, "Copy value").click();
  assert.match(await clipboard(), /^gatehouse-domain-verification=/);
  await page.route("**/verify", (route) => route.fulfill({ status: 409, json: { code: "CONFLICT", reason: "DNS_RECORD_MISSING", error: "no" } }));
  await by(branch, "Verify branch.example").click();
  await branch.getByText("The TXT record was not found.").waitFor();
  await page.unrouteAll();
  await see(page, "sso");

  // A longer list with other states.
  await changeEmbedded(page, /\/settings\/sso$/, "/api/settings/saml-providers", ({ providers: [first] }) => {
    const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString();
    const certificate = (status, from, to) => ({ ...first.certificates[0], status, notBefore: day(from), notAfter: day(to) });
    const others = [
      { name: "Okta", entityId: "http://www.okta.com/exk1fcia6d6EMsf331d8", certificates: [certificate("VALID", -100, 3000)], emailDomains: ["corp.example"], warnings: [] },
      { name: "Entra ID of the branch in the far north", entityId: "https://sts.windows.net/11111111-2222-4333-8444-555555555555/", certificates: [certificate("EXPIRED", -900, -2), certificate("NOT_YET_VALID", 3, 900)], warnings: ["emailDomains: x", "certificates: none is valid now, so nobody can sign in; add a valid certificate or newer metadata"] },
      { name: "ADFS", entityId: "http://adfs.example/adfs/services/trust", certificates: [certificate("VALID", -100, 300)], metadata: { ...first.metadata, failedAt: day(0), error: "x" }, warnings: ["metadataUrl: could not be used on 2026-11-22: there was no answer. The previous metadata stays in effect"] },
    ];
    const providers = [first, ...others.map((other, at) => ({ ...first, id: `${first.id.slice(0, -1)}${at}`, ...other }))];
    return { providers, signInMode: "CREDENTIALS_ONLY" };
  });
  await page.goto("/settings/sso");
  await shows("4 SSO connections.");
  await shows("allows only email and password");
  await see(page, "sso-many");
  await page.unrouteAll();
  await page.goto("/settings/sso");

  await somebodySignsIn(await stranger(), other, see, by, signIn);

  // Remove the domain and the connection.
  await page.bringToFront();
  await by(page, "Remove verification of corp.example").click();
  await by(page.locator("#sure"), "Remove").click();
  await confirm();
  await by(page, "Verify corp.example").waitFor();
  await link("Elsewhere").click();
  await tab("Settings");
  await page.waitForFunction(() => document.querySelector("[name=name]").value !== "");
  await by(page, "Remove SSO connection").click();
  await by(page.locator("#sure"), "Remove").click();
  await confirm();
  await shows("SSO connection removed.");
  await shows("No SSO connections yet");
  await page.goto(`/settings/sso?provider=${own}`);
  await shows("Page not found");
  await page.goto("/settings/sso");
  other.close();
  assert.deepEqual(complaints, []);
}

/** Signs in as Kim, whose account has a password. */
async function somebodySignsIn({ context, page, complaints }, other, see, by, signIn) {
  const at = (path) => page.waitForURL((url) => url.pathname === path);
  const go = () => page.getByRole("link", { name: "Continue with Elsewhere" });
  await authenticator(page);
  await page.goto("/auth/login");
  await page.evaluate(() => sessionStorage.setItem("offered", "false"));
  await page.goto("/auth/login?next=/account/security");

  // The sign-in page finds the connection by an address of a verified domain.
  const single = by(page, "Sign in with single sign-on");
  await single.click();
  await page.locator('[data-wrong="email"]').getByText("Enter your email address first").waitFor();
  await page.getByLabel("Email").fill("kim@branch.example");
  await single.click();
  await page.locator('[data-wrong="email"]').getByText("has no single sign-on here").waitFor();
  await see(page, "sign-in-sso-none");
  await page.getByLabel("Email").fill("kim@corp.example");
  await go().waitFor();
  await see(page, "sign-in-sso");
  await page.goto("/auth/login?tenant=works&next=/account/security");
  await go().waitFor();

  // The redirect page without its script; then a response that is refused.
  other.answer.signed = false;
  await page.route("**/saml-post.js", (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
  const [between] = await Promise.all([page.waitForResponse((answer) => answer.url().includes("/login?relayState")), go().click()]);
  const policy = between.headers()["content-security-policy"];
  assert.ok(policy.includes(`form-action ${new URL(other.sso).origin};`), policy);
  assert.equal(between.headers()["cache-control"], "no-store");
  await by(page, "Continue to Elsewhere").waitFor();
  await see(page, "saml-post");
  await page.unrouteAll();
  await by(page, "Continue to Elsewhere").click();
  await page.getByText("SAML_REFUSED").waitFor();
  await page.getByText("an administrator of Works").waitFor();
  await see(page, "sso-refused");
  await by(page, "Copy error code and reference").click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^SAML_REFUSED req_/);
  await page.getByRole("link", { name: "Try again" }).click();
  await at("/auth/login");

  // An identity provider that redirects to another host: the browser blocks the form, and the page explains it.
  other.answer.elsewhere = other.metadata;
  await page.goto("/auth/login?tenant=works");
  await go().click();
  await page.getByText("The browser blocked the redirect").waitFor();
  assert.match(complaints.splice(0).join(), /^Sending form data to .* violates the following Content Security Policy/);
  await see(page, "saml-post-stopped");
  delete other.answer.elsewhere;

  // A sign-in by email address; then one that requires a second factor.
  other.answer.signed = true;
  await page.goto("/auth/login?next=/account/security");
  await page.getByLabel("Email").fill("kim@corp.example");
  await single.click();
  await at("/account/security");
  await page.locator(".head").getByText("kim@corp.example").waitFor();
  await by(page, "Add a passkey").click();
  await by(page, "I saved the codes").click();
  await signOut(page);
  await page.getByText("You are signed out.").waitFor();
  await page.goto("/auth/login?tenant=works&next=/account/security");
  await go().click();
  await page.getByText("Use your passkey", { exact: true }).waitFor();
  assert.ok(!page.url().includes("kim"));
  // After a reload, the page continues at the same step.
  await page.reload();
  await by(page, "Use passkey").click();
  await at("/account/security");

  // The password still works.
  await signOut(page);
  await page.getByText("You are signed out.").waitFor();
  await signIn(page, "kim@corp.example");
  await page.getByText("Use your passkey", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
}
