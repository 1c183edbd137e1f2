// The whole story of a new server: from the link that it prints at its first start to a revoked session.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { authenticator, somebody } from "./eyes.mjs";
import { mailbox } from "./mailbox.mjs";
import { isSigned, sink } from "./sink.mjs";

const PASSWORD = "four tall blue towers";
const run = promisify(execFile);

/** Runs the story on the server that these facts describe: see `story.rs`. */
export async function story(browser, facts, see, by) {
  const { base, program, folder, environment } = facts;
  const gatehouse = async (...words) => {
    const { stdout } = await run(program, words, { env: { ...process.env, ...environment } });
    return stdout;
  };
  const [mail, receiver] = [await mailbox(facts.mailPort), await sink()];
  const { page, complaints } = await somebody(browser, base);
  await authenticator(page);
  const shows = (text, on = page) => on.getByText(text).first().waitFor();
  const at = (path, on = page) => on.waitForURL((url) => url.pathname === path);
  const section = (name) => page.locator("#sections").getByRole("link", { name, exact: true }).click();
  const confirm = () => by(page.locator("#step-up"), "Confirm").click();

  // First start: the start page leads to the setup, which needs the link that the server printed.
  const begun = Date.now();
  await page.goto("/");
  await at("/setup");
  await shows("Open the link that the server printed");
  await see(page, "setup-without-link");
  const link = JSON.parse(await gatehouse("setup", "--json")).link;
  await page.goto(link);
  await page.getByLabel("Organization").fill("Crème & Söhne");
  assert.equal(await page.getByLabel("Short name").inputValue(), "creme-sohne");
  await page.getByLabel("Your email").fill("ada@corp.example");
  await page.getByLabel("Password", { exact: true }).fill("short");
  await see(page, "setup");
  await by(page, "Create organization").click();
  await page.locator('[data-wrong="password"]').filter({ hasText: /./ }).waitFor();
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await by(page, "Create organization").click();
  await at("/auth/enrol");
  await shows("Protect your account");
  await see(page, "enrol-offered");
  await page.locator('[data-act="add-passkey"]').click();
  await shows("Your recovery codes");
  await by(page, "I saved the codes").click();
  await at("/settings");
  await shows("1 of 5 steps done.");
  await see(page, "overview-first");
  const took = (Date.now() - begun) / 1000;
  assert.ok(took < 300, `the first run took ${took} s`);
  await page.goto("/setup");
  await shows("Gatehouse is set up");
  await see(page, "setup-done");
  await page.goto("/settings");
  await by(page, "Rename organization").click();
  await see(page, "overview-rename");
  await page.getByLabel("Name", { exact: true }).fill("Corp");
  await by(page, "Rename", { exact: true }).click();
  await page.locator(".where").getByText("Corp", { exact: true }).waitFor();

  // Invite by mail. The person sets a password and adds a passkey.
  await section("People");
  await by(page, "Invite people").click();
  await page.getByLabel("Email addresses").fill("grace@corp.example");
  await by(page.locator("#invite"), "Invite").click();
  const grace = await somebody(browser, base);
  await authenticator(grace.page);
  await grace.page.goto(await mail.link("grace@corp.example"));
  await grace.page.getByLabel("New password", { exact: true }).fill(PASSWORD);
  await by(grace.page, "Set password and sign in").click();
  await at("/auth/enrol", grace.page);
  await grace.page.locator('[data-act="add-passkey"]').click();
  await by(grace.page, "I saved the codes").click();
  await at("/account/security", grace.page);

  // A webhook that receives what follows.
  await section("Webhooks");
  await page.getByRole("link", { name: "Add webhook" }).click();
  await page.getByLabel("Name", { exact: true }).fill("SIEM");
  await page.getByLabel("URL", { exact: true }).fill(receiver.url);
  await by(page, "Add webhook").click();
  await by(page, "I saved the secret").waitFor();
  const secret = await page.locator("[data-secret]").textContent();
  await by(page, "I saved the secret").click();

  // The policy, with its impact before it is saved.
  await section("Sign-in");
  await page.getByLabel("Require a second factor from everyone").check();
  await page.locator("[data-impact]").getByText("No one is locked out, and no one has to enrol a factor.").waitFor();
  await by(page, "Save policy").click();
  await confirm();
  await shows("Policy saved.");

  // A directory provisions a user over SCIM.
  await section("Identity and SSO");
  await page.getByRole("link", { name: "SCIM provisioning" }).click();
  await by(page, "Add token").click();
  await page.locator("#scim-name").fill("Directory");
  await by(page, "Create token").click();
  await confirm();
  await shows("Your new SCIM token");
  const token = await page.locator("[data-token]").textContent();
  await by(page, "Done").click();
  await run(facts.python, [`${facts.walk}/directory.py`, `${base}/api/scim/v2`], { env: { ...process.env, SCIM_TOKEN: token } });
  await page.locator('[data-part="changes"]').getByText("A user was created.").waitFor();

  // The user signs in through an identity provider. The second factor is the provider's.
  await section("Sign-in");
  await page.getByLabel("Accept a single sign-on without a further factor").check();
  await by(page, "Save policy").click();
  await confirm();
  await shows("Policy saved.");
  const { Samlp } = await import(`${facts.saml}/samlp.mjs`);
  const people = { iris: { password: "iris", email: "iris@corp.example" } };
  const provider = await Samlp.start({ folder: `${folder}/samlp`, people });
  // Without TLS, the browser sends the cookie of the sign-in only from the same site.
  provider.url = provider.url.replace("127.0.0.1", "localhost");
  const metadata = `${folder}/samlp.xml`;
  await writeFile(metadata, await provider.metadata());
  await gatehouse("domain", "verify", "--tenant", "creme-sohne", "--domain", "corp.example");
  await section("Identity and SSO");
  await page.getByRole("link", { name: "Add SSO connection" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Samlp");
  await page.getByLabel("Email domains").fill("corp.example");
  await page.getByText("Metadata XML", { exact: true }).first().click();
  await page.locator('[name="metadataXml"]').fill(await readFile(metadata, "utf8"));
  await by(page, "Add SSO connection").click();
  await confirm();
  await shows("Steps 1 to 4 are done.");
  const own = new URL(page.url()).searchParams.get("provider");
  await provider.register(await (await fetch(`${base}/api/saml/${own}/metadata`)).text());
  const iris = await somebody(browser, base);
  await iris.page.goto("/auth/login");
  await iris.page.locator("#email").fill("iris@corp.example");
  // The connections, looked up while the button is pressed, do not move it away.
  await by(iris.page, "Sign in with single sign-on").hover();
  await Promise.all([iris.page.waitForResponse("**/api/auth/sign-in/providers"), iris.page.mouse.down()]);
  await iris.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await iris.page.mouse.up();
  await iris.page.waitForURL((url) => url.origin === new URL(provider.url).origin);
  await iris.page.locator('[name="username"]').fill("iris");
  await iris.page.locator('[name="password"]').fill("iris");
  await iris.page.locator('[name="go"]').click();
  await at("/account/security", iris.page);

  // The webhook has received the provisioning, signed.
  const created = await receiver.received(({ headers }) => headers["x-service-event-type"] === "ACCOUNT_USER_CREATED");
  assert.equal(JSON.parse(created.body).resource.type, "user");
  assert.ok(isSigned(created, secret), "the delivery is signed");

  // A refusal is explained on the person's page, which the search finds.
  const stranger = await somebody(browser, base);
  await stranger.page.goto("/auth/login");
  await stranger.page.locator("#email").fill("grace@corp.example");
  await stranger.page.getByLabel("Password", { exact: true }).fill("not the password at all");
  await by(stranger.page, "Sign in").click();
  await shows("The email address or the password is incorrect.", stranger.page);
  await page.locator('[data-search="ready"]').waitFor();
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: "Page or person" }).fill("grace");
  await page.getByRole("option", { name: /grace@corp\.example/ }).waitFor();
  await see(page, "search");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "grace@corp.example" }).waitFor();
  await shows("password");
  await see(page, "person-refused");

  // The person forgot it, and gets a link by mail.
  await by(stranger.page, "Forgot your password?").click();
  await see(stranger.page, "forgotten-password");
  await by(stranger.page, "Send link").click();
  await shows("Check your mail", stranger.page);
  await see(stranger.page, "forgotten-password-sent");
  const reset = await mail.link("grace@corp.example");

  // The log is exported, and proved with the program alone.
  await section("Audit log");
  await page.locator("[data-found]").getByText(/entries/).waitFor();
  await shows("This browser stored the size and root hash of the log");
  await page.getByLabel("Action", { exact: true }).fill("ACCOUNT_USER_*");
  await page.waitForURL(/ACCOUNT_USER/);
  const [file] = await Promise.all([page.waitForEvent("download"), by(page, "Export as NDJSON with proofs").click()]);
  await file.saveAs(`${folder}/log.ndjson`);
  await page.getByText("Checkpoint and keys").click();
  const key = await page.locator("[data-keys]").textContent();
  const verified = await gatehouse("audit", "verify", "--file", `${folder}/log.ndjson`, "--key", key.trim());
  assert.match(verified, /The entries in this file are unchanged/);

  // The session of the person is revoked: by the link, and on the person's page.
  await stranger.page.goto(reset);
  await stranger.page.getByLabel("New password", { exact: true }).fill("five small green doors");
  await by(stranger.page, "Set password and sign in").click();
  await shows("Use your passkey", stranger.page);
  await grace.page.reload();
  await at("/auth/login", grace.page);
  await page.goto("/settings/people?q=iris");
  await page.getByRole("link", { name: "Iris", exact: true }).click();
  await page.locator("li").filter({ hasText: "A user signed in." }).getByText("Samlp").waitFor();
  await by(page, "Sign out everywhere").click();
  await by(page.locator("#sure"), "Sign out everywhere").click();
  await shows("Not signed in anywhere.");
  await iris.page.reload();
  await at("/auth/login", iris.page);
  await shows("This session was ended.", iris.page);

  // The account menu leads to another organization, and knows this one until the user signs out.
  await page.locator(".bar > .account").click();
  await see(page, "account-menu");
  assert.equal(await page.evaluate(() => JSON.parse(localStorage.getItem("gatehouse.organizations"))[0].slug), "creme-sohne");
  await page.locator("#account").getByRole("button", { name: "Sign out" }).click();
  await at("/auth/login");
  assert.equal(await page.evaluate(() => localStorage.getItem("gatehouse.organizations")), null);

  for (const one of [complaints, grace.complaints, iris.complaints, stranger.complaints]) assert.deepEqual(one, []);
  provider.close();
  mail.close();
  receiver.close();
}
