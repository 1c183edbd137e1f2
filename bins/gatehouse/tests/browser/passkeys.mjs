// Passkeys of other devices, and what password managers learn of removed passkeys (WebAuthn's Signal API).
import assert from "node:assert/strict";
import { authenticator, code, signOut, somebody } from "./eyes.mjs";

/** Waits until the authenticator has this number of passkeys. */
async function has(device, number) {
  const deadline = Date.now() + 10_000;
  while ((await device.credentials()).length !== number) {
    assert.ok(Date.now() < deadline, `${(await device.credentials()).length} passkeys instead of ${number}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Runs the walk as a user without a second factor; `signIn` signs in with the password. */
export async function passkeys(browser, base, signIn, see, by) {
  const { page, complaints } = await somebody(browser, base);
  const device = await authenticator(page);
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = (options) => {
      if (options.mediation !== "conditional") sessionStorage.setItem("hints", JSON.stringify(options.publicKey.hints ?? []));
      return get(options);
    };
  });
  const security = (url) => url.pathname === "/account/security";
  const hints = () => page.evaluate(() => JSON.parse(sessionStorage.getItem("hints")));

  await signIn(page, "gwen@example.com", undefined, "/auth/login?next=/account/security");
  await page.waitForURL(security);
  await by(page, "Add a passkey").click();
  await by(page, "I saved the codes").click();
  await page.getByText("10 unused recovery codes.").waitFor();
  await has(device, 1);

  // The browser is asked for a passkey of this device, or of another one.
  await device.offered(false);
  await signOut(page);
  await page.getByText("You are signed out.").waitFor();
  await see(page, "sign-in-passkeys");
  await by(page, "Sign in with a passkey").click();
  await page.waitForURL((url) => url.pathname !== "/auth/login");
  assert.deepEqual(await hints(), []);
  await signOut(page);
  await by(page, "Use a passkey from another device").click();
  await page.waitForURL((url) => url.pathname !== "/auth/login");
  assert.deepEqual(await hints(), ["hybrid"]);

  // The authenticator removes the passkey that the user removes here.
  await page.goto("/account/security");
  await page.waitForURL(security);
  await page.locator('[data-act="remove-factor"]').click();
  await by(page.locator("#sure"), "Remove").click();
  await by(page.locator("#step-up"), "Confirm").click();
  await page.getByText("No second factor yet.").waitFor();
  await has(device, 0);

  // A passkey that was removed elsewhere disappears when the user tries it.
  await by(page, "Add a passkey").click();
  await by(page, "I saved the codes").click();
  await page.getByText("10 unused recovery codes.").waitFor();
  await has(device, 1);
  const kept = (await device.credentials())[0];
  await page.evaluate(() => { PublicKeyCredential.signalAllAcceptedCredentials = undefined; });
  await page.locator('[data-act="remove-factor"]').click();
  await by(page.locator("#sure"), "Remove").click();
  await by(page.locator("#step-up"), "Confirm").click();
  await page.getByText("No second factor yet.").waitFor();
  assert.equal((await device.credentials())[0].credentialId, kept.credentialId, "the page sent no signal");
  await signOut(page);
  await by(page, "Sign in with a passkey").click();
  await page.getByText("That code is incorrect or has expired, or the passkey was not accepted.").waitFor();
  await has(device, 0);

  // After a sign-in with a code the browser may create a passkey without asking. Chromium's virtual authenticator never does, so
  // here it is asked.
  await signIn(page, "gwen@example.com", undefined, "/auth/login?next=/account/security");
  await page.waitForURL(security);
  await by(page, "Add authenticator app").click();
  await page.locator("#enrol-app svg").waitFor();
  const secret = await page.locator("[data-secret]").textContent();
  await page.getByLabel("Code", { exact: true }).fill(code(secret));
  await by(page, "Verify and add").click();
  await by(page, "I saved the codes").click();
  await page.addInitScript(() => {
    const create = navigator.credentials.create.bind(navigator.credentials);
    navigator.credentials.create = ({ mediation, ...options }) => {
      sessionStorage.setItem("mediation", mediation);
      return create(options);
    };
    PublicKeyCredential.getClientCapabilities = async () => ({ conditionalCreate: true });
  });
  await signOut(page);
  await page.getByText("You are signed out.").waitFor();
  await signIn(page, "gwen@example.com", undefined, "/auth/login?next=/account/security");
  await page.getByLabel("Code", { exact: true }).fill(code(secret, 1));
  await by(page, "Continue").click();
  await page.getByText("Your password manager saved a passkey for your next sign-in.").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("mediation")), "conditional");
  await has(device, 1);
  await page.reload();
  await page.getByText("Passkey", { exact: true }).waitFor();
  await see(page, "passkey-saved");
  await signOut(page);
  await by(page, "Sign in with a passkey").click();
  await page.waitForURL((url) => url.pathname !== "/auth/login");
  assert.deepEqual(complaints, []);
}
