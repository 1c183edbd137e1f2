// The five main tasks of an administrator, by keyboard alone.
import assert from "node:assert/strict";

/** Runs the walk as this administrator, who has a passkey. */
export async function keyboard({ page, complaints }, receiver) {
  const press = (key) => page.keyboard.press(key);
  const type = (text) => page.keyboard.insertText(text);
  const shows = (text) => page.getByText(text).first().waitFor();

  /** Moves the focus with Tab to the element with this accessible name, which must show that it has the focus. */
  async function to(role, name, { exact = true, within = page } = {}) {
    const wanted = await within.getByRole(role, { name, exact }).first().elementHandle();
    for (let presses = 0; presses < 150; presses += 1) {
      await press("Tab");
      if (await wanted.evaluate((element) => element === document.activeElement)) {
        const seen = await wanted.evaluate((element) => {
          const { outlineStyle, outlineWidth } = getComputedStyle(element);
          return outlineStyle !== "none" && outlineWidth !== "0px";
        });
        assert.ok(seen, `${role} ${name} shows that it has the focus`);
        return;
      }
    }
    assert.fail(`${role} ${name} cannot be reached with Tab`);
  }

  /** Opens the search, once the page listens for its keys. */
  async function search() {
    await page.locator('[data-search="ready"]').waitFor();
    await press("Control+K");
    await page.getByRole("combobox", { name: "Page or person" }).waitFor();
  }

  /** Goes to a page with the search. */
  async function go(words, heading) {
    await search();
    await type(words);
    await page.getByRole("option", { name: heading }).waitFor();
    await press("Enter");
    await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  }

  async function confirm() {
    await page.locator("#step-up").getByText("Confirm it's you").waitFor();
    await to("button", "Confirm");
    await press("Enter");
  }

  // 1. Invite a person.
  await page.goto("/settings");
  await press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await go("people", "People");
  await to("button", "Invite people");
  await press("Enter");
  await page.locator("#invite").waitFor();
  await to("textbox", "Email addresses", { exact: false });
  await type("keys@works.example");
  await to("button", "Invite");
  await press("Enter");
  await page.getByRole("heading", { name: "Invitations" }).waitFor();
  await to("button", "Done");
  await press("Enter");
  await page.getByRole("link", { name: "keys@works.example" }).waitFor();

  // 2. Change the sign-in policy, with a step-up.
  await go("sign-in", "Sign-in");
  await to("spinbutton", "After minutes without use");
  await press("Control+A");
  await type("61");
  await to("button", "Save policy");
  await shows("No one is locked out, and no one has to enrol a factor.");
  await press("Enter");
  await confirm();
  await shows("Policy saved.");

  // 3. Add a webhook.
  await go("webhooks", "Webhooks");
  await to("link", "Add webhook");
  await press("Enter");
  await page.locator("#hook-name").waitFor();
  await to("textbox", "Name");
  await type("Keys");
  await to("textbox", "URL");
  await type(receiver);
  await to("button", "Add webhook");
  await press("Enter");
  await to("button", "I saved the secret");
  await press("Enter");
  await page.waitForURL((url) => url.searchParams.has("id"));
  await page.getByRole("heading", { name: /^Keys/ }).waitFor();

  // 4. Find and verify an entry of the audit log.
  await go("audit", "Audit log");
  await page.locator("[data-found]").getByText(/entr/).waitFor();
  await to("searchbox", "Text");
  await type("webhook_created");
  await page.waitForURL((url) => url.searchParams.get("q") === "webhook_created");
  await page.locator("[data-entries] > li").filter({ hasNotText: /webhook/i }).first().waitFor({ state: "detached" });
  const entry = page.locator("[data-entries] summary").first();
  for (let presses = 0; !(await entry.evaluate((element) => element === document.activeElement)); presses += 1) {
    assert.ok(presses < 100, "the entry cannot be reached with Tab");
    await press("Tab");
  }
  await press("Enter");
  await to("button", "Verify");
  await press("Enter");
  await shows("Verified: this entry is in the signed log");

  // 5. End the access of a person.
  await search();
  await type("keys@works");
  await page.getByRole("option", { name: "keys@works.example" }).waitFor();
  await press("Enter");
  await page.getByRole("heading", { name: "keys@works.example" }).waitFor();
  await to("button", "Disable");
  await press("Enter");
  await page.locator("#sure").waitFor();
  await to("button", "Disable", { within: page.locator("#sure") });
  await press("Enter");
  await page.locator("h1 .badge").getByText("disabled").waitFor();

  // The account menu opens, closes with Escape, and signs out.
  await to("button", /^hana/i);
  await press("Enter");
  await page.locator("#account").waitFor();
  await press("Escape");
  await page.locator("#account").waitFor({ state: "hidden" });
  await press("Enter");
  await to("button", "Sign out");
  await press("Enter");
  await page.waitForURL((url) => url.pathname === "/auth/login");
  assert.deepEqual(complaints, []);
}
