// A directory removes too many users, and an administrator decides.
import assert from "node:assert/strict";

/** Runs the walk as this administrator; `scim` is the token of the directory. */
export async function removals({ page, complaints, confirm }, see, by, scim) {
  const base = new URL(page.url()).origin;
  const shows = (text) => page.getByText(text).first().waitFor();
  const directory = async (method, path, status, body, token = scim) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/scim+json" };
    const answer = await fetch(`${base}/api/scim/v2/Users${path}`, { method, headers, body: body && JSON.stringify(body) });
    assert.equal(answer.status, status, await answer.clone().text());
    return status === 204 ? undefined : answer.json();
  };
  const leavers = [];
  for (const name of ["Abel Moss", "Bea Noor", "Cleo Park", "Dora Quist"]) {
    const userName = `${name.split(" ")[0].toLowerCase()}@works.example`;
    const found = await directory("GET", `?filter=${encodeURIComponent(`userName eq "${userName}"`)}`, 200);
    const [{ id }] = found.Resources;
    await directory("PATCH", `/${id}`, 200, { Operations: [{ op: "replace", path: "displayName", value: name }] });
    leavers.push(id);
  }

  // A number out of range is refused; a valid one is saved.
  await page.goto("/settings/scim");
  const limit = page.locator('[data-form="limit"]');
  await limit.getByLabel("Number of users").fill("0");
  await by(limit, "Save").click();
  await confirm();
  await limit.getByText("write a number from 1 to 1000000").waitFor();
  await limit.getByLabel("Number of users").fill("1");
  await limit.getByLabel("Percent of the active users").fill("1");
  await see(page, "scim-limit");
  // The step-up of the refused request is not used up.
  await by(limit, "Save").click();
  await shows("Saved.");

  // The page shows paused removals by itself.
  const deactivate = { Operations: [{ op: "replace", path: "active", value: false }] };
  await directory("PATCH", `/${leavers[0]}`, 200, deactivate);
  await directory("PATCH", `/${leavers[1]}`, 403, deactivate);
  await directory("DELETE", `/${leavers[2]}`, 403);
  await shows("Directory asks to remove 2 users");
  await shows("Bea Noor");
  await see(page, "scim-paused");
  await page.goto("/settings");
  await page.getByText("2 removals wait for your decision.").waitFor();
  await see(page, "overview-paused");

  // The users stay.
  await page.goto("/settings/scim");
  await by(page, "Keep these users").click();
  await see(page, "removals-keep");
  await by(page.locator("#sure"), "Keep users").click();
  await shows("The users stay.");
  await page.getByText("asks to remove").waitFor({ state: "detached" });

  // The users go.
  await directory("DELETE", `/${leavers[2]}`, 403);
  await page.reload();
  await shows("Directory asks to remove 1 user");
  await by(page, "Remove these users").click();
  await see(page, "removals-remove");
  await by(page.locator("#sure"), "Remove users").click();
  await confirm();
  await shows("Removed 1 user.");
  await page.getByText("asks to remove").waitFor({ state: "detached" });
  await directory("GET", `/${leavers[2]}`, 404);
  await directory("DELETE", `/${leavers[3]}`, 204);

  // A directory is tried first.
  await by(page, "Add token").click();
  const dialog = page.locator("#new-token");
  await dialog.getByLabel("Name", { exact: true }).fill("Entra");
  await dialog.getByText("Dry run: simulate changes").click();
  await see(page, "dry-run-new");
  await by(dialog, "Create token").click();
  await confirm();
  await page.locator("#made-token").waitFor();
  const token = await page.locator("[data-token]").textContent();
  await by(page, "Done").click();
  await shows("Its requests would change nothing so far.");
  await directory("DELETE", `/${leavers[0]}`, 204, undefined, token);
  await directory("DELETE", `/${leavers[1]}`, 204, undefined, token);
  await directory("POST", "", 201, { userName: "newcomer@works.example" }, token);
  await page.getByText("Its requests would create 1, delete 2 users and groups. Nothing is changed.").waitFor();
  await shows("These removals exceed the limit below");
  await see(page, "dry-run");
  await directory("GET", `/${leavers[0]}`, 200);
  await by(page, "Revoke Entra").click();
  await by(page.locator("#sure"), "Revoke").click();
  await page.getByText("Dry run of Entra").waitFor({ state: "detached" });

  // Other walks remove users, too.
  await limit.getByLabel("Number of users").fill("10");
  await limit.getByLabel("Percent of the active users").fill("20");
  await by(limit, "Save").click();
  await confirm();
  await shows("Saved.");
  assert.deepEqual(complaints, []);
}
