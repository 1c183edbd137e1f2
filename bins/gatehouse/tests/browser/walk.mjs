// Browser tests of the pages.
// walk.mjs BASE_URL FOLDER FACTS [ONLY]: the server, the folder for screenshots, the test data (see browser.rs), and a part of
// the names of the walks to run.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { changeEmbedded } from "./embedded.mjs";
import { authenticator, code, launch, look, report, signOut, somebody } from "./eyes.mjs";
import { unused } from "./idle.mjs";
import { keyboard } from "./keyboard.mjs";
import { logStreams } from "./log-streams.mjs";
import { signals } from "./signals.mjs";
import { oidc } from "./oidc.mjs";
import { passkeys } from "./passkeys.mjs";
import { people } from "./people.mjs";
import { removals } from "./removals.mjs";
import { roles } from "./roles.mjs";
import { secure } from "./secure.mjs";
import { sink } from "./sink.mjs";
import { sso } from "./sso.mjs";
import { story } from "./story.mjs";
import { consistency, leaves, path, root } from "./trees.mjs";
import { webhooks } from "./webhooks.mjs";
import { weights } from "./weights.mjs";

const [base, folder, given, only = ""] = process.argv.slice(2);
const facts = JSON.parse(given);
const browser = await launch();
const see = (page, name) => look(page, name, folder);
const by = (page, name) => page.getByRole("button", { name, exact: true });

/** Waits for the preview of a changed policy. It moves the buttons below it, and a click on a moving button is lost. */
const previewed = (page) => page.locator("[data-impact]:not([aria-busy=true])").waitFor({ state: "attached" });

async function signIn(page, email, password = facts.password, place = "/auth/login") {
  await page.goto(place);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await by(page, "Sign in").click();
}

const at = (page, path) => page.waitForURL((url) => url.pathname === path);

let works;

/** Returns the administrator of Works, with a passkey. All walks share this user. */
async function administrator() {
  if (works) return works;
  const one = await somebody(browser, base);
  await authenticator(one.page);
  await signIn(one.page, "hana@example.com", facts.password, "/auth/login?next=/account/security");
  await at(one.page, "/account/security");
  await by(one.page, "Add a passkey").click();
  await by(one.page, "I saved the codes").click();
  await one.page.getByText("10 unused recovery codes.").waitFor();
  const confirm = () => by(one.page.locator("#step-up"), "Confirm").click();
  works = { ...one, confirm };
  return works;
}

const walks = {
  "the story of a new server, from its first start to a revoked session": async () => {
    await story(browser, facts.story, see, by);
  },

  "enrol factors, sign in with each, revoke the session from another browser": async () => {
    const { context, page, complaints, count } = await somebody(browser, base);
    const device = await authenticator(page);
    await page.goto("/");
    await at(page, "/auth/login");
    await see(page, "sign-in");

    // The error does not reveal whether the account exists.
    await signIn(page, "ada@example.com", "not the password at all");
    await page.getByText("The email address or the password is incorrect.").waitFor();
    await see(page, "sign-in-refused");

    await signIn(page, "ada@example.com", facts.password, "/auth/login?next=/account/security");
    await at(page, "/account/security");
    await page.getByText("No second factor yet.").waitFor();
    await see(page, "security-empty");

    // The first factor, a passkey, comes with recovery codes.
    await by(page, "Add a passkey").click();
    await page.getByText("Your recovery codes").waitFor();
    const codes = await page.locator("[data-codes] li").allTextContents();
    assert.equal(new Set(codes).size, 10);
    await see(page, "recovery-codes");
    await page.keyboard.press("Escape");
    assert.ok(await page.getByText("Your recovery codes").isVisible(), "Escape would lose them");
    await by(page, "Copy").click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), codes.join("\n"));
    await by(page, "I saved the codes").click();
    await page.getByText("10 unused recovery codes.").waitFor();
    assert.equal((await device.credentials()).length, 1);

    // An authenticator app as the second factor, without a step-up, because the enrolment is recent.
    await by(page, "Add authenticator app").click();
    await page.locator("#enrol-app svg").waitFor();
    await page.getByText("Enter the key manually").click();
    await see(page, "authenticator-app");
    const secret = await page.locator("[data-secret]").textContent();
    await page.getByLabel("Code", { exact: true }).fill("000000");
    await by(page, "Verify and add").click();
    await page.locator("#enrol-app [data-refused]").waitFor();
    await page.getByLabel("Code", { exact: true }).fill(code(secret));
    await by(page, "Verify and add").click();
    await page.getByText("Authenticator app", { exact: true }).waitFor();

    await by(page, "Rename Passkey").click();
    await page.getByLabel("Name", { exact: true }).first().fill("Laptop <b>of</b> Ada");
    await see(page, "rename");
    await by(page, "Rename").click();
    await page.getByText("Laptop <b>of</b> Ada", { exact: true }).waitFor();

    // A token is shown once.
    await by(page, "Add token").click();
    await by(page, "Create token").click({ trial: true });
    await page.locator("#token-name").fill("Build server");
    await page.locator("#new-token").getByText("read:profile").click();
    await see(page, "new-token");
    await by(page, "Create token").click();
    await page.getByText("Your new token").waitFor();
    const token = await page.locator("[data-token]").textContent();
    await see(page, "made-token");
    await by(page, "Done").click();
    const asked = await fetch(`${base}/api/me`, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal((await asked.json()).email, "ada@example.com");
    // The dialog forgets the token in its close event, which comes after the click.
    await page.getByText(token).waitFor({ state: "detached" });
    await see(page, "security");

    // Sign in with only the passkey: by the button, and by autofill in the email field.
    await device.offered(false);
    await signOut(page);
    await page.getByText("You are signed out.").waitFor();
    await by(page, "Sign in with a passkey").click();
    await at(page, "/account/security");
    await device.offered(true);
    await page.goto("/auth/login?next=/account/security");
    await at(page, "/account/security");

    // Sign in with the password, then with the passkey or a code.
    await device.offered(false);
    await signIn(page, "ada@example.com", facts.password, "/auth/login?next=/account/security");
    await by(page, "Use passkey").click();
    await at(page, "/account/security");
    await signIn(page, "ada@example.com", facts.password, "/auth/login?next=/account/security");
    await page.getByText("Use your passkey", { exact: true }).waitFor();
    await see(page, "factor-passkey");
    await page.getByText("Use a recovery code instead").first().click();
    await see(page, "factor-recovery");
    await page.locator('[data-step="RECOVERY_CODE"]').getByText("Use an authenticator app instead").click();
    await see(page, "factor-code");
    await page.getByLabel("Code", { exact: true }).fill("123456");
    await by(page, "Continue").click();
    await page.getByText("That code is incorrect or has expired, or the passkey was not accepted").waitFor();
    // The enrolment consumed the current time step. The code of the next step is valid already.
    await page.getByLabel("Code", { exact: true }).fill(code(secret, 1));
    await by(page, "Continue").click();
    await at(page, "/account/security");

    // A step-up with the passkey. Closing the dialog cancels the action.
    await by(page, "Generate new codes").click();
    await page.getByText("Confirm it's you").waitFor();
    await see(page, "step-up-passkey");
    const made = count("/api/me/recovery-codes", 200);
    await page.keyboard.press("Escape");
    await page.locator("#step-up").waitFor({ state: "hidden" });
    await by(page, "Generate new codes").click();
    assert.equal(count("/api/me/recovery-codes", 200), made, "no codes without a step-up");
    await by(page, "Confirm").click();
    await page.getByText("Your recovery codes").waitFor();
    const newer = await page.locator("[data-codes] li").allTextContents();
    assert.equal(new Set([...codes, ...newer]).size, 20);
    await by(page, "I saved the codes").click();

    // Another browser signs in with a recovery code and ends the first session.
    const other = await somebody(browser, base);
    await signIn(other.page, "ada@example.com", facts.password, "/auth/login?next=/account/security");
    await other.page.getByText("Use your passkey", { exact: true }).waitFor();
    await other.page.getByText("Use a recovery code instead").first().click();
    await other.page.getByLabel("Recovery code", { exact: true }).fill(newer[0]);
    await by(other.page, "Continue").click();
    await at(other.page, "/account/security");
    await other.page.getByText("9 unused recovery codes.").waitFor();
    const sessions = other.page.locator('[data-part="sessions"] [data-id]');
    const before = await sessions.count();
    assert.ok(before >= 2);
    await sessions.filter({ hasNotText: "this session" }).first().getByRole("button").click();
    await other.page.getByText("Session ended.").waitFor();
    assert.equal(await sessions.count(), before - 1);
    await page.bringToFront();
    await by(page, "Add token").click();
    await page.locator("#token-name").fill("Too late");
    await page.locator("#new-token").getByText("read:profile").click();
    await by(page, "Create token").click();
    await at(page, "/auth/login");
    await page.getByText("This session was ended.").waitFor();
    await see(page, "thrown-out");
    assert.deepEqual([...complaints, ...other.complaints], []);
    await context.close();
    await other.context.close();
  },

  "a page that nobody uses does not keep its session alive": async () => {
    await unused(browser, base, (page) => signIn(page, "dave@example.com", facts.password, "/auth/login?next=/account/security"));
  },

  "the heartbeat detects a revoked session": async () => {
    const one = await somebody(browser, base);
    const two = await somebody(browser, base);
    for (const { page } of [one, two]) {
      await signIn(page, "carol@example.com", facts.password, "/auth/login?next=/account/security");
      await at(page, "/account/security");
    }
    const row = two.page.locator('[data-part="sessions"] [data-id]').filter({ hasNotText: "this session" });
    await row.getByRole("button").click();
    await two.page.getByText("Session ended.").waitFor();
    // The page checks the session when its tab becomes visible.
    await one.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await one.page.getByText("This session was ended.").waitFor();
    // Change the password.
    await by(two.page, "Change password").first().click();
    await two.page.getByLabel("Current password", { exact: true }).fill(facts.password);
    await two.page.getByLabel("New password", { exact: true }).fill("short");
    await by(two.page.locator("#change-password"), "Change password").click();
    await two.page.locator('#change-password [data-wrong="newPassword"]').filter({ hasText: "15 characters" }).waitFor();
    await two.page.getByLabel("Current password", { exact: true }).fill("not mine");
    await two.page.getByLabel("New password", { exact: true }).fill("quite another set of words");
    await by(two.page.locator("#change-password"), "Change password").click();
    await two.page.locator('#change-password [data-wrong="currentPassword"]').filter({ hasText: "password is incorrect" }).waitFor();
    await two.page.getByLabel("Current password", { exact: true }).fill(facts.password);
    await two.page.getByLabel("New password", { exact: true }).fill("short");
    await by(two.page.locator("#change-password"), "Change password").click();
    await two.page.locator('#change-password [data-wrong="newPassword"]').filter({ hasText: "15 characters" }).waitFor();
    await see(two.page, "change-password");
    await two.page.getByLabel("New password", { exact: true }).fill("quite another set of words");
    await by(two.page.locator("#change-password"), "Change password").click();
    await two.page.getByText("Password changed.").waitFor();
    await signOut(two.page);
    await two.page.getByText("You are signed out.").waitFor();
    await signIn(two.page, "carol@example.com", "quite another set of words", "/auth/login?next=/account/security");
    await at(two.page, "/account/security");
    assert.deepEqual([...one.complaints, ...two.complaints], []);
    await one.context.close();
    await two.context.close();
  },

  "step-up with a code from an authenticator app": async () => {
    const { context, page, complaints } = await somebody(browser, base);
    await signIn(page, "erin@example.com", facts.password, "/auth/login?next=/account/security");
    await at(page, "/account/security");
    await by(page, "Add authenticator app").click();
    await page.locator("#enrol-app svg").waitFor();
    const secret = await page.locator("[data-secret]").textContent();
    await page.getByLabel("Code", { exact: true }).fill(code(secret));
    await by(page, "Verify and add").click();
    await by(page, "I saved the codes").click();
    // An administrator's token: the step-up dialog opens above the token dialog.
    await by(page, "Add token").click();
    await page.locator("#token-name").fill("Everything");
    await page.locator("#new-token").getByText("admin:tenant").click();
    await by(page, "Create token").click();
    await page.getByText("to create an administrator token").waitFor();
    await page.getByLabel("Code from your authenticator app").fill("000000");
    await by(page, "Confirm").click();
    await page.getByText("That code is incorrect or was already used").waitFor();
    await see(page, "step-up-code");
    await page.getByLabel("Code from your authenticator app").fill(code(secret, 1));
    await by(page, "Confirm").click();
    await page.getByText("Your new token").waitFor();
    const token = await page.locator("[data-token]").textContent();
    await by(page, "Done").click();
    const asked = await fetch(`${base}/api/settings/users`, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(asked.status, 200);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  "changing the password and removing a factor require a step-up": async () => {
    const { context, page, complaints } = await somebody(browser, base);
    await authenticator(page);
    await signIn(page, "frank@example.com", facts.password, "/auth/login?next=/account/security");
    await at(page, "/account/security");
    await by(page, "Add a passkey").click();
    await by(page, "I saved the codes").click();
    await by(page, "Change password").first().click();
    await page.getByLabel("Current password", { exact: true }).fill(facts.password);
    await page.getByLabel("New password", { exact: true }).fill("nine small wooden boats");
    await by(page.locator("#change-password"), "Change password").click();
    await by(page, "Confirm").click();
    await page.getByText("Password changed.").waitFor();
    await by(page, "Remove Passkey").click();
    await see(page, "remove");
    await by(page.locator("#sure"), "Remove").click();
    await by(page, "Confirm").click();
    await page.getByText("No second factor yet.").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  },

  "accept an invitation and enrol a required factor": async () => {
    const { context, page, complaints } = await somebody(browser, base);
    const device = await authenticator(page);
    await page.goto(facts.invitation.replace(/^.*\/auth/, "/auth"));
    await see(page, "link");
    await page.getByLabel("New password", { exact: true }).fill("password");
    await by(page, "Set password and sign in").click();
    await page.locator('[data-step="link"] [data-wrong="password"]').filter({ hasText: /./ }).waitFor();
    await page.getByLabel("New password", { exact: true }).fill("eleven grey herons");
    await by(page, "Show new password").click();
    assert.equal(await page.getByLabel("New password", { exact: true }).getAttribute("type"), "text");
    await by(page, "Set password and sign in").click();
    await at(page, "/auth/enrol");
    await see(page, "enrol");
    // Other pages redirect to the enrolment page.
    await page.goto("/account/security");
    await at(page, "/auth/enrol");
    await page.locator("[data-act=add-passkey]").click();
    await page.getByText("Your recovery codes").waitFor();
    await by(page, "I saved the codes").click();
    await at(page, "/account/security");
    assert.equal(await page.getByText("Add authenticator app").count(), 0, "the organization accepts only passkeys");
    await see(page, "security-strict");
    // The link was consumed. Autofill is off, because the authenticator would otherwise sign in again.
    await device.offered(false);
    await signOut(page);
    await page.getByText("You are signed out.").waitFor();
    await page.goto(facts.invitation.replace(/^.*\/auth/, "/auth"));
    await page.getByLabel("New password", { exact: true }).fill("eleven grey herons");
    await by(page, "Set password and sign in").click();
    await page.getByText("This link has expired or was already used").waitFor();
    await see(page, "link-spent");
    assert.deepEqual(complaints, []);
    await context.close();
  },

  "enrol a required authenticator app and switch tabs meanwhile": async () => {
    const { context, page, complaints } = await somebody(browser, base);
    await signIn(page, "gina@example.com", facts.password, "/auth/login?next=/account/security");
    await at(page, "/auth/enrol");
    await page.locator("[data-act=add-app]").click();
    await page.locator("#enrol-app svg").waitFor();
    const secret = await page.locator("[data-secret]").textContent();
    // Switch to another tab and back.
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.getByLabel("Code", { exact: true }).fill(code(secret));
    await by(page, "Verify and add").click();
    await page.getByText("Your recovery codes").waitFor();
    // The enrolment page redirects when no factor is required any more.
    await page.goto("/auth/enrol?next=/account/security");
    await at(page, "/account/security");
    assert.equal(await page.locator("[data-secret]").textContent(), "");
    // The page notices when another user signs in in another tab.
    const tab = await context.newPage();
    await signIn(tab, "dave@example.com", facts.password, "/auth/login?next=/account/security");
    await at(tab, "/account/security");
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.locator(".head").getByText("dave@example.com").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  },

  "one email address in two organizations, and the notice after a password reset": async () => {
    const { context, page, complaints } = await somebody(browser, base);
    await signIn(page, "both@example.com", facts.password, "/auth/login?next=/account/security");
    await page.getByText("Choose an organization").waitFor();
    await see(page, "which-organization");
    await by(page, "Strict").click();
    await at(page, "/auth/enrol");
    await signIn(page, "both@example.com", facts.password, "/auth/login?tenant=acme&next=/account/security");
    await at(page, "/account/security");
    await page.goto(facts.reset.replace(/^.*\/auth/, "/auth"));
    await page.getByLabel("New password", { exact: true }).fill("seven slow green rivers");
    await by(page, "Set password and sign in").click();
    await page.getByText("An administrator reset your password").waitFor();
    await see(page, "notice");
    await page.getByText("Continue", { exact: true }).last().click();
    await page.getByRole("link", { name: "Not now" }).click();
    await at(page, "/account/security");
    assert.deepEqual(complaints, []);
    await context.close();
  },

  "an administrator changes the network policy and previews which callers it blocks": async () => {
    const ivan = await somebody(browser, base);
    await signIn(ivan.page, "ivan@example.com", facts.password, "/auth/login?next=/account/security");
    await at(ivan.page, "/account/security");
    assert.equal(await ivan.page.getByRole("navigation").count(), 0, "members have no settings");
    await ivan.page.goto("/settings/network");
    await ivan.page.getByRole("heading", { name: "You don't have access to this page" }).waitFor();
    await see(ivan.page, "not-an-administrator");
    const { page, complaints, confirm } = await administrator();
    await page.locator(".bar > .account").click();
    await see(page, "account-menu");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    await by(page, "Menu").click();
    await page.getByRole("link", { name: "Network" }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Overview", "the menu takes the focus");
    await page.screenshot({ path: `${folder}/menu-narrow-light.png` });
    await page.getByRole("link", { name: "Network" }).click();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByText("No ranges yet.").waitFor();
    await see(page, "network-empty");
    const save = by(page, "Save policy");
    assert.equal(await save.getAttribute("aria-disabled"), "true", "nothing to save yet");

    // The preview shows whom the policy would block.
    await page.getByLabel("Only from these ranges").check();
    await page.getByText("1 user with 1 session would be blocked").waitFor();
    await page.locator("[data-impact] b").getByText("ivan@example.com").waitFor();
    await see(page, "network-impact");
    await page.getByLabel("Allow administrators from any address").uncheck();
    await page.getByText("2 users with").waitFor();
    await save.click();
    await confirm();
    await page.getByText("This policy would block everybody").waitFor();
    await see(page, "network-lockout");

    // Adding a range keeps the unsaved policy form.
    await by(page, "Add ranges").click();
    await page.getByLabel("Address ranges, one per line", { exact: true }).fill("127.0.0.1/8");
    await page.getByLabel("Label").first().fill("This machine <b>");
    await by(page, "Add").click();
    await confirm();
    await page.getByText("write 127.0.0.0/8").waitFor();
    await see(page, "network-add");
    await page.getByLabel("Address ranges, one per line", { exact: true }).fill("");
    await page.getByText("Use my address, 127.0.0.1").click();
    await by(page, "Add").click();
    await page.getByText("includes your address").waitFor();
    await page.getByText("No one who was active in the last 30 days would be blocked.").waitFor();
    await previewed(page);
    await save.click();
    await confirm();
    await page.getByText("Policy saved.").waitFor();
    assert.ok(await page.getByLabel("Only from these ranges").isChecked());

    // The last range cannot be removed, and blocking the current address requires a confirmation.
    await page.getByRole("button", { name: /^Remove This machine/ }).click();
    await page.getByText("2 users with").waitFor();
    await see(page, "network-remove");
    await by(page.locator("#sure"), "Remove").click();
    await confirm();
    await page.locator("#sure").getByText("This policy would block everybody").waitFor();
    await by(page.locator("#sure"), "Cancel").click();
    await by(page, "Add ranges").click();
    // Several ranges are added with one step-up. An error names the line.
    await page.getByLabel("Address ranges, one per line", { exact: true }).fill("198.51.100.0/24\n192.0.2.9/24 Data centre");
    await page.getByLabel("Label").first().fill("Elsewhere");
    await by(page, "Add").click();
    await confirm();
    await page.getByText("192.0.2.9/24: ").waitFor();
    await see(page, "network-add-several");
    await page.getByLabel("Address ranges, one per line", { exact: true }).fill("198.51.100.0/24\n192.0.2.0/24 Data centre");
    await by(page, "Add").click();
    await page.getByText("2 ranges added.").waitFor();
    await page.getByText("Data centre", { exact: true }).waitFor();
    await page.getByRole("button", { name: /^Remove Data centre/ }).click();
    await by(page.locator("#sure"), "Remove").click();
    await confirm();
    await page.getByText("Data centre", { exact: true }).waitFor({ state: "detached" });
    await page.getByText("Elsewhere", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Rename Elsewhere" }).click();
    await page.locator("#new-label").fill("Branch office");
    await by(page.locator("#rename"), "Rename").click();
    await confirm();
    await page.getByText("Branch office", { exact: true }).waitFor();
    await page.getByRole("button", { name: /^Remove This machine/ }).click();
    await by(page.locator("#sure"), "Remove").click();
    await confirm();
    await page.getByText("Block your own address?").waitFor();
    await see(page, "network-shut-out");
    await by(page.locator("#sure"), "Cancel").click();

    await page.getByLabel("Address", { exact: true }).fill("203.0.113.9");
    await by(page, "Test").click();
    await page.getByText("No range includes this address.").waitFor();
    await page.getByLabel("Address", { exact: true }).fill("198.51.100.9");
    await by(page, "Test").click();
    await page.getByText("Matches the range Branch office, 198.51.100.0/24.").waitFor();
    await see(page, "network");

    // Turn the policy off, discard the change, and turn it off again.
    await page.getByLabel("From any address", { exact: true }).check();
    await previewed(page);
    await by(page, "Discard changes").click();
    await page.locator("[name=mode][value=ALLOWLIST]:checked").waitFor();
    await page.getByLabel("From any address", { exact: true }).check();
    await previewed(page);
    await save.click();
    await confirm();
    await page.getByText("not enforced while the policy is off").waitFor();

    // Removing a range keeps the unsaved policy form.
    await page.getByLabel("Pages and all other").uncheck();
    await previewed(page);
    await page.getByRole("button", { name: /^Remove Branch office/ }).click();
    await page.getByText("The policy is off, so this blocks no one.").waitFor();
    await by(page.locator("#sure"), "Remove").click();
    await confirm();
    await page.getByText("1 range, not enforced").waitFor();
    await previewed(page);
    assert.ok(!(await page.getByLabel("Pages and all other").isChecked()));
    assert.equal(await save.getAttribute("aria-disabled"), "false");
    await page.getByText("Unsaved changes", { exact: true }).waitFor();
    await by(page, "Discard changes").click();
    await page.locator("[name=DASHBOARD]:checked").waitFor();
    assert.deepEqual(complaints, []);
    await ivan.context.close();
  },

  "an administrator changes the sign-in policy and previews which users it affects": async () => {
    const { page, complaints, confirm } = await administrator();
    const form = page.locator('[data-form="policy"]');
    const impact = form.locator("[data-impact]");
    await page.goto("/settings");
    await page.getByRole("link", { name: "Sign-in", exact: true }).first().click();
    await page.getByRole("heading", { name: "Sign-in", exact: true }).waitFor();
    await see(page, "sign-in-policy");
    await page.getByLabel("Require a second factor from everyone").check();
    await impact.getByText("would have to enrol a second factor").waitFor();
    await impact.getByRole("link", { name: "ivan@example.com" }).waitFor();
    assert.equal(await impact.getByText("hana@example.com").count(), 0, "hana has a passkey");
    await see(page, "sign-in-policy-impact");
    await page.getByLabel("Single sign-on only").check();
    await impact.getByText("This policy would lock out every administrator").waitFor();
    await impact.getByText("You could not sign in again.").waitFor();
    await see(page, "sign-in-policy-lockout");
    await by(page, "Save policy").click();
    await confirm();
    await form.locator("[data-refused]").getByText("no SSO connection").waitFor();
    await by(page, "Discard changes").click();
    await page.getByLabel("Accept passkeys").uncheck();
    await page.getByLabel("Accept codes").uncheck();
    await form.locator("[data-refused]").waitFor();
    await previewed(page);
    await by(page, "Discard changes").click();
    await page.getByLabel("After minutes without use").fill("60");
    await page.getByLabel("Maximum lifetime in days").fill("90");
    await page.getByLabel("Allow write:hcm").uncheck();
    await impact.getByText("No one is locked out, and no one has to enrol a factor.").waitFor();
    await previewed(page);
    // The refused request did not consume the step-up.
    await by(page, "Save policy").click();
    await page.getByText("Policy saved.").waitFor();
    await page.reload();
    assert.equal(await page.getByLabel("Maximum lifetime in days").inputValue(), "90");
    assert.equal(await page.getByLabel("Allow write:hcm").isChecked(), false);
    await page.getByLabel("After minutes without use").fill("720");
    await page.getByLabel("Maximum lifetime in days").fill("");
    await page.getByLabel("Allow write:hcm").check();
    await previewed(page);
    await by(page, "Save policy").click();
    await confirm();
    await page.getByText("Policy saved.").waitFor();
    assert.deepEqual(complaints, []);
  },

  "an administrator changes the attestation policy and previews which passkeys it refuses": async () => {
    const { page, complaints, confirm } = await administrator();
    await page.getByRole("link", { name: "Authenticators" }).click();
    await page.getByText("1 passkey enrolled.").waitFor();
    await see(page, "authenticators");
    const save = by(page, "Save policy");
    await page.getByLabel("Only these models").check();
    await page.getByText("No model is allowed.").waitFor();
    await page.getByLabel("Other security keys").check();
    await page.getByText("1 of 1 passkey would be refused").waitFor();
    await see(page, "authenticators-impact");
    await save.click();
    await confirm();
    await page.getByText("It would refuse 1 passkey today.").waitFor();
    await page.getByText("1 of them not allowed by this policy").waitFor();

    // Enrolling a model that is not allowed fails with a message.
    const ivan = await somebody(browser, base);
    await authenticator(ivan.page);
    await signIn(ivan.page, "ivan@example.com", facts.password, "/auth/login?next=/account/security");
    await at(ivan.page, "/account/security");
    await by(ivan.page, "Add a passkey").click();
    await ivan.page.getByText("This tenant does not allow this authenticator model").waitFor();
    await see(ivan.page, "passkey-refused");

    // Allow single models in addition to the groups.
    await page.getByLabel("Find a model").fill("yubikey fips 5.7");
    await page.getByText("No models found.").waitFor();
    await page.getByLabel("Find a model").fill("yubikey fips");
    const shown = () => page.locator("[data-makes] > li:visible").count();
    assert.ok((await shown()) > 1);
    await see(page, "authenticators-found");
    await page.getByLabel("Find a model").fill("");
    await page.getByLabel("Group").selectOption("ENROLLED");
    assert.equal(await shown(), 1);
    await page.getByLabel("Allow Unknown model, 01020304").check();
    await page.getByText("it is built into a device").waitFor();
    await page.getByLabel("Allow authenticators built into a device").check();
    await page.getByText("The only enrolled passkey would be accepted.").waitFor();
    await previewed(page);
    await page.getByLabel("Add by AAGUID").fill("11111111-2222-4333-8444-555555555555");
    await by(page, "Allow").click();
    await page.getByLabel("Allow Unknown model, 11111111-2222-4333-8444-555555555555").waitFor();
    await previewed(page);
    await save.click();
    await confirm();
    await page.getByText("Policy saved.").waitFor();
    await page.getByText("and 2 unknown").waitFor();
    await see(page, "authenticators-saved");
    await by(ivan.page, "Add a passkey").click();
    await ivan.page.getByText("Your recovery codes").waitFor();
    assert.deepEqual([...complaints, ...ivan.complaints], []);
    await ivan.context.close();
  },

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

  "the page accepts only valid proofs": async () => {
    const { context, page } = await somebody(browser, base);
    await page.goto("/auth/login");
    const text = (hash) => hash.toString("base64");
    const [inclusions, extensions] = [[], []];
    for (let size = 1; size <= 20; size += 1) {
      const all = leaves(size);
      const whole = text(root(all));
      for (let place = 0; place < size; place += 1) {
        inclusions.push([text(all[place]), place, size, path(place, all).map(text), whole]);
        extensions.push([place + 1, text(root(all.slice(0, place + 1))), size, whole, consistency(place + 1, all).map(text)]);
      }
    }
    const wrong = await page.evaluate(async ([inclusions, extensions]) => {
      const { bytes, isBeginning, isIncluded } = await import(new URL("audit-proofs.js", document.querySelector("link[rel=stylesheet]").href));
      const other = bytes("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
      const found = [];
      const expect = async (isRight, verdict, of) => { if ((await verdict) !== isRight) found.push([isRight, ...of]); };
      for (const [leaf, place, size, path, root] of inclusions) {
        const [from, to, way] = [bytes(leaf), bytes(root), path.map(bytes)];
        const of = ["inclusion", place, size];
        await expect(true, isIncluded(from, place, size, way, to), of);
        await expect(false, isIncluded(other, place, size, way, to), of);
        await expect(false, isIncluded(from, place, size, way, other), of);
        await expect(false, isIncluded(from, place, size, [...way, other], to), of);
        await expect(false, isIncluded(from, size, size, way, to), of);
        if (size > 1) {
          await expect(false, isIncluded(from, place, size, way.slice(1), to), of);
          await expect(false, isIncluded(from, (place + 1) % size, size, way, to), of);
        }
      }
      for (const [earlier, first, later, second, path] of extensions) {
        const [from, to, way] = [bytes(first), bytes(second), path.map(bytes)];
        const of = ["consistency", earlier, later];
        await expect(true, isBeginning(earlier, from, later, to, way), of);
        await expect(false, isBeginning(earlier, other, later, to, way), of);
        await expect(false, isBeginning(earlier, from, later, other, way), of);
        await expect(false, isBeginning(earlier, from, later, to, [...way, other]), of);
        if (earlier < later) {
          await expect(false, isBeginning(earlier, from, later, to, way.slice(0, -1)), of);
          await expect(false, isBeginning(later, to, earlier, from, way), of);
        }
      }
      return found;
    }, [inclusions, extensions]);
    assert.deepEqual(wrong, []);
    await context.close();
  },

  "an administrator searches, verifies and exports the audit log": async () => {
    const { page, complaints, confirm } = await administrator();
    // An act with a step-up.
    await page.goto("/settings/scim");
    await by(page, "Add token").click();
    await page.locator("#scim-name").fill("Old directory");
    await by(page, "Create token").click();
    await confirm();
    await by(page, "Done").click();
    await by(page, "Revoke Old directory").click();
    await by(page.locator("#sure"), "Revoke").click();
    // Record entries to search.
    await page.evaluate(async () => {
      for (let number = 0; number < 60; number += 1) {
        const body = JSON.stringify({ displayName: `Hana ${number}` });
        await fetch("/api/me", { method: "PATCH", headers: { "Content-Type": "application/json" }, body });
      }
    });
    await page.goto("/account/security");
    await page.getByRole("link", { name: "Audit log" }).click();
    const rows = page.locator("[data-entries] > li");
    const found = page.locator("[data-found]");
    await found.getByText("Showing the newest 50 entries.").waitFor();
    assert.equal(await rows.count(), 50);
    await page.getByText("This browser stored the size and root hash of the log").waitFor();
    await see(page, "audit-log");

    // Loading more moves the focus to the first new entry.
    await by(page, "Load more").click();
    await rows.nth(50).waitFor();
    await page.waitForFunction(() => document.activeElement === document.querySelectorAll("[data-entries] summary")[50]);
    const ids = await rows.evaluateAll((all) => all.map((row) => row.dataset.id));
    assert.equal(new Set(ids).size, ids.length, "no entry is listed twice");

    // Search as you type: the latest search wins, even if its response arrives first.
    let late;
    const held = new Promise((resolve) => { late = resolve; });
    await page.route(/audit-log\?.*action=ACCOUNT_USER_\*/, async (route) => {
      const answer = await route.fetch();
      await held;
      await route.fulfill({ response: answer });
    });
    const asked = page.waitForRequest(/action=ACCOUNT_USER_\*/);
    await page.getByLabel("Action", { exact: true }).fill("account_user_");
    await asked;
    await page.getByLabel("Action", { exact: true }).fill("account_user_role");
    await found.getByText("1 entry.").waitFor();
    const whole = page.waitForEvent("requestfinished", (request) => /action=ACCOUNT_USER_/.test(request.url()));
    late();
    await whole;
    await page.unrouteAll();
    assert.equal(await rows.count(), 1);
    await rows.getByText("A user's role changed.").waitFor();
    assert.equal(new URL(page.url()).search, "?action=account_user_role");
    await page.reload();
    await found.getByText("1 entry.").waitFor();
    await see(page, "audit-log-found");

    // A malformed filter shows its error at the field and keeps the focus.
    await page.getByLabel("Action", { exact: true }).fill("ACCOUNT-USER");
    await page.locator('[data-wrong="action"]').filter({ hasText: /./ }).waitFor();
    await see(page, "audit-log-refused");
    await page.getByLabel("Action", { exact: true }).fill("ACCOUNT_GROUP_*");
    await found.getByText("No entries match.").waitFor();
    await see(page, "audit-log-nothing");
    await by(page, "Show all entries").click();
    await found.getByText("The newest 50 entries").waitFor();
    assert.equal(new URL(page.url()).search, "");

    // Actors are found by name, and searches are saved.
    await page.getByLabel("Actor", { exact: true }).fill("Hana 59");
    await page.locator("[data-who]").getByText("Hana 59").or(found.getByText("The newest 50 entries")).first().waitFor();
    await page.waitForURL(/userId=Hana\+59/);
    await by(page, "Save search").click();
    await page.getByLabel("Name", { exact: true }).fill("By Hana");
    await by(page, "Save").click();
    await by(page, "Clear filters").click();
    await page.waitForURL((url) => url.search === "");
    await by(page, "By Hana").click();
    await page.waitForURL(/userId=Hana\+59/);
    await see(page, "audit-log-saved");
    await by(page, "Remove By Hana").click();
    await by(page, "By Hana").waitFor({ state: "detached" });

    // A step-up is part of the act that it permitted.
    await page.goto("/settings/audit-log?action=ACCOUNT_STEPUP_CONSUMED,ACCOUNT_SCIM_TOKEN_CREATED");
    const act = rows.filter({ hasText: "A SCIM token was created." }).first();
    await act.getByText("after step-up").waitFor();
    await act.locator("summary").click();
    await act.getByRole("heading", { name: "Step-up" }).waitFor();
    await see(page, "audit-log-step-up");
    await page.goto("/settings/audit-log");

    // Verify an entry. New entries are sealed with a short delay.
    await page.getByLabel("Text", { exact: true }).fill("factor_enrolled");
    await found.getByText(/^[1-3] entr/).waitFor();
    await rows.first().locator("summary").click();
    await rows.first().locator("pre").waitFor();
    const stands = rows.first().getByText(/^Verified: this entry is in the signed log, at index [0-9]+ of [0-9]+/);
    await by(page, "Verify").click();
    await stands.waitFor();
    await rows.first().getByText("The hash of this entry matches the sealed hash.").waitFor();
    await see(page, "audit-log-proved");
    await page.route("**/proof", async (route) => {
      const answer = await route.fetch();
      const proof = await answer.json();
      await route.fulfill({ response: answer, json: { ...proof, sequence: proof.sequence ^ 1 } });
    });
    await by(page, "Verify").click();
    await rows.first().getByText("Verification failed: the proof does not show").waitFor();
    await see(page, "audit-log-not-proved");
    await page.unrouteAll();
    await page.route("**/proof", (route) => route.fulfill({ status: 409, json: { code: "NOT_SEALED", error: "not yet" } }));
    await by(page, "Verify").click();
    await rows.first().getByText("Not sealed yet").waitFor();
    await page.unrouteAll();
    await by(page, "Filter by resource").click();
    await page.waitForURL(/resourceType=factor/);

    // The checkpoint, and that the log only grew since the first visit.
    await page.getByText(/^Verified: the log only grew, from [0-9]+ entries to [0-9]+, since you last looked on .*\.$|^No entries were added or changed since/).waitFor();
    await page.getByText("Checkpoint and keys").click();
    await by(page, "Verify signature").click();
    await page.getByText("Valid signature", { exact: true }).waitFor();
    await by(page, "Copy checkpoint").click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^gatehouse\/audit\/ten_/);
    const [note] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download checkpoint" }).click()]);
    assert.match(note.suggestedFilename(), /^audit-log-checkpoint-[0-9]+\.txt$/);
    await see(page, "audit-log-checkpoint");
    await page.evaluate(() => {
      const [place, kept] = Object.entries(localStorage).find(([name]) => name.startsWith("gatehouse.audit-log."));
      localStorage.setItem(place, JSON.stringify({ ...JSON.parse(kept), size: 3 }));
    });
    await by(page, "Check again").click();
    await page.getByText("The log does not match the one that you saw.").waitFor();
    await see(page, "audit-log-tampered");
    await by(page, "Trust the current log").click();
    await page.getByText("This browser stored the size and root hash of the log").waitFor();

    // Choose a day by keyboard.
    await by(page, "Clear filters").click();
    await found.getByText("The newest 50 entries").waitFor();
    const bars = page.getByRole("toolbar", { name: "Entries per day" });
    assert.equal(await bars.getByRole("button").count(), 30);
    await bars.getByRole("button").last().focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await found.getByText("No entries match.").waitFor();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await found.getByText("The newest 50 entries").waitFor();
    assert.match(page.url(), /from=.*&to=/);
    await see(page, "audit-log-day");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.search === "");

    // Busy days, one of them above the counting limit.
    await page.route("**/activity?*", async (route) => {
      const answer = await route.fetch();
      const { days } = await answer.json();
      const busy = days.map((day, at) => ({ ...day, count: at === 12 ? 10_000 : (at * at * 37) % 5000 }));
      await route.fulfill({ response: answer, json: { days: busy } });
    });
    await page.reload();
    await bars.getByRole("button", { name: /: 10,000 entries or more$/ }).waitFor();
    await see(page, "audit-log-activity");
    await page.unrouteAll();

    // Unindexed searches continue in steps. An empty log shows its empty state.
    const pages = [
      { entries: [], nextCursor: "further", scanStoppedAt: "2026-01-31T09:30:00.000Z" },
      { entries: [], nextCursor: null },
    ];
    await page.route(/audit-log\?.*q=needle/, (route) => route.fulfill({ json: pages.shift() }));
    await page.getByLabel("Text", { exact: true }).fill("needle");
    await page.getByText("Searched 50,000 entries, back to 31 Jan 2026").waitFor();
    await see(page, "audit-log-further");
    await by(page, "Search older entries").click();
    await found.getByText("No entries match.").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "entries-title");
    await page.unrouteAll();
    await page.evaluate(() => localStorage.clear());
    await changeEmbedded(page, /settings\/audit-log$/, "/api/settings/audit-log?", () => ({ entries: [], nextCursor: null }));
    await page.route("**/checkpoint", (route) => route.fulfill({ status: 404, json: { code: "NOT_FOUND", error: "nothing is sealed yet" } }));
    await page.goto("/settings/audit-log");
    await found.getByText("No entries yet.").waitFor();
    await page.getByText("No entries are sealed yet.").waitFor();
    await see(page, "audit-log-empty");
    await page.unrouteAll();
    await page.reload();
    await found.getByText("The newest 50 entries").waitFor();

    // Exports: CSV, NDJSON with proofs, and one at a time.
    await page.getByLabel("Action", { exact: true }).fill("ACCOUNT_FACTOR_*");
    await page.waitForURL(/ACCOUNT_FACTOR/);
    const lines = async (name) => {
      const [file] = await Promise.all([page.waitForEvent("download"), by(page, name).click()]);
      return [file.suggestedFilename(), (await readFile(await file.path(), "utf8")).trim().split("\n")];
    };
    const [csv, [head, ...rest]] = await lines("Export as CSV");
    assert.match(csv, /^audit-log-.*\.csv$/);
    assert.match(head, /^id,timestamp,/);
    assert.ok(rest.length > 0 && rest.every((line) => line.includes("ACCOUNT_FACTOR_")));
    const [, [checkpoint, entry]] = await lines("Export as NDJSON with proofs");
    assert.ok(JSON.parse(checkpoint).checkpoint && JSON.parse(entry).proof.path);
    await page.route("**/export?*", (route) => route.fulfill({ status: 429, headers: { "Retry-After": "10" }, json: { code: "RATE_LIMITED", error: "busy" } }));
    await by(page, "Export as NDJSON").click();
    await page.getByText("Another export is running").waitFor();
    await see(page, "audit-log-export");
    await page.unrouteAll();
    assert.deepEqual(complaints, []);
  },

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
