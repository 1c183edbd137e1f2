// An administrator defines a role, gives it to a group, and sees who gets it before.
import assert from "node:assert/strict";

/** Runs the walk as this administrator; `scim` is the token of the directory. */
export async function roles({ page, complaints, confirm }, see, by, scim) {
  const base = new URL(page.url()).origin;
  const shows = (text) => page.getByText(text).first().waitFor();
  const directory = async (path, body) => {
    const headers = { Authorization: `Bearer ${scim}`, "Content-Type": "application/scim+json" };
    const answer = await fetch(`${base}/api/scim/v2/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 201);
    return answer.json();
  };
  const { id } = await directory("Users", { userName: "quinn@works.example", displayName: "Quinn Ray" });
  await directory("Groups", { displayName: "Help desk", members: [{ value: id }] });

  await page.goto("/settings/roles");
  await page.locator("h1").getByText("Roles").waitFor();
  await shows("No rules yet.");
  await see(page, "roles");

  // A role of the organization's own.
  await by(page, "Add role").click();
  const role = page.locator("#role");
  await role.getByLabel("Name", { exact: true }).fill("Admin");
  await role.getByLabel("support:users").check();
  await see(page, "role-new");
  await by(role, "Save").click();
  await confirm();
  await shows("write 1 to 64 printable characters that are not the name of a built-in role");
  await see(page, "role-refused");
  await role.getByLabel("Name", { exact: true }).fill("First line");
  await role.getByLabel("Description", { exact: true }).fill("Help for people who lost a factor");
  await by(role, "Save").click();
  await page.locator("[data-part=roles]").getByText("First line").waitFor();

  // A rule, with the people who get the role.
  await by(page, "Add rule").click();
  const rule = page.locator("#rule");
  await rule.getByLabel("Group", { exact: true }).selectOption("Help desk");
  await rule.getByLabel("Role", { exact: true }).selectOption({ label: "First line: Help for people who lost a factor" });
  await rule.getByText("1 user gains the role: Quinn Ray").waitFor();
  await see(page, "rule-new");
  await by(rule, "Save").click();
  await confirm();
  await shows("Rule saved. It is in force now.");
  await see(page, "roles-rules");
  await page.goto(`/settings/people?id=${id}`);
  await page.locator("h1 .badge").getByText("First line").waitFor();
  await see(page, "person-given");

  // The role is used; the rule says who loses it.
  await page.goto("/settings/roles");
  await by(page, "Delete First line").click();
  await by(page.locator("#sure"), "Delete").click();
  await confirm();
  await shows("Users, rules or connections have this role.");
  await by(page.locator("#sure"), "Cancel").click();
  await by(page, "Delete the rule for Help desk").click();
  await shows("1 user loses the role: Quinn Ray");
  await see(page, "rule-sure");
  await by(page.locator("#sure"), "Delete").click();
  await confirm();
  await shows("No rules yet.");
  await by(page, "Delete First line").click();
  await by(page.locator("#sure"), "Delete").click();
  await confirm();
  await page.locator("[data-part=roles]").getByText("First line").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
}
