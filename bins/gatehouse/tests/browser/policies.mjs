// The network policy, the sign-in policy and the attestation policy.
import assert from "node:assert/strict";
import { authenticator, somebody } from "./eyes.mjs";
import { administrator, at, base, browser, by, facts, folder, previewed, see, signIn } from "./stage.mjs";

export const policies = {
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
};
