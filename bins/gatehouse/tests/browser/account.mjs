// The pages of a user: factors, sessions, step-ups, invitations.
import assert from "node:assert/strict";
import { authenticator, code, signOut, somebody } from "./eyes.mjs";
import { unused } from "./idle.mjs";
import { at, base, browser, by, facts, see, signIn } from "./stage.mjs";

export const account = {
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
};
