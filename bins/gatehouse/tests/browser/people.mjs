// An administrator finds, invites and manages people.
import assert from "node:assert/strict";

/** Runs the walk as this administrator; `scim` is the token of the directory, `stranger` opens another user's browser. */
export async function people({ page, complaints, confirm }, see, by, scim, stranger) {
  const base = new URL(page.url()).origin;
  const shows = (text) => page.getByText(text).first().waitFor();
  const names = () => page.locator('[data-part="list"] a').allInnerTexts();
  const link = (name) => page.getByRole("link", { name, exact: true });
  const sure = (name) => by(page.locator("#sure"), name).click();

  // The directory creates users and a group.
  const directory = async (path, body) => {
    const headers = { Authorization: `Bearer ${scim}`, "Content-Type": "application/scim+json" };
    const answer = await fetch(`${base}/api/scim/v2/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 201);
    return answer.json();
  };
  const members = [];
  for (const name of ["Nora Quist", "Oscar <i>Reed</i>"]) {
    const user = `${name.split(" ")[0].toLowerCase()}@works.example`;
    const { id } = await directory("Users", { userName: user, displayName: name, externalId: user, emails: [{ value: user, primary: true }] });
    members.push({ value: id });
  }
  await directory("Groups", { displayName: "Surveyors & Co", members });

  // The list, and its filters.
  await page.goto("/settings");
  await link("People").first().click();
  await page.getByRole("heading", { name: "People", exact: true }).waitFor();
  const everyone = await names();
  assert.ok(everyone.includes("Nora Quist") && everyone.includes("Oscar <i>Reed</i>"), everyone.join());
  await see(page, "people");
  await page.getByLabel("Source").selectOption("SCIM");
  await by(page, "Search").click();
  await page.waitForURL((url) => url.search === "?source=SCIM");
  const managed = await names();
  assert.ok(managed.includes("Nora Quist") && managed.includes("Oscar <i>Reed</i>") && !managed.some((name) => /hana|kim/i.test(name)), managed.join());
  await page.getByLabel("Search").fill("REED");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("q") === "REED");
  assert.deepEqual(await names(), ["Oscar <i>Reed</i>"]);
  await page.getByLabel("Search").fill("nobody at all");
  await by(page, "Search").click();
  await shows("No one matches.");
  await see(page, "people-none");
  await link("Clear").click();
  await page.getByLabel("Second factor").selectOption("true");
  await by(page, "Search").click();
  await page.waitForURL((url) => url.search === "?factor=true");
  const enrolled = await names();
  assert.ok(enrolled.some((name) => /hana/i.test(name)) && !enrolled.includes("Nora Quist"), enrolled.join());

  // Invite several people at once. Mail is not configured, so the page shows the links.
  await by(page, "Invite people").click();
  await see(page, "people-invite");
  await page.getByLabel("Email addresses").fill("Paul <paul@works.example>\nhana@example.com\nnot an address");
  await by(page.locator("#invite"), "Invite").click();
  await shows('"not an address" is not an email address.');
  await see(page, "people-invite-refused");
  await page.getByLabel("Email addresses").fill("Paul <paul@works.example>\nhana@example.com");
  await by(page.locator("#invite"), "Invite").click();
  await page.getByRole("heading", { name: "Invitations" }).waitFor();
  assert.equal(await page.locator("[data-invited] .badge.bad").count(), 1);
  const invitation = await page.locator("[data-invited] [data-link]").innerText();
  await see(page, "people-invited");
  await by(page, "Done").click();

  // The person accepts.
  const other = await stranger();
  await other.page.goto(invitation);
  await other.page.getByLabel("New password", { exact: true }).fill("seven quiet brown owls");
  await by(other.page, "Set password and sign in").click();
  await other.page.getByRole("link", { name: "Not now" }).click();
  await other.page.waitForURL((url) => url.pathname === "/account/security");
  await other.page.goto("/settings/people");
  await other.page.getByRole("heading", { name: "You don't have access to this page" }).waitFor();

  // The page of a person from the directory.
  await page.goto("/settings/people?q=nora");
  await link("Nora Quist").click();
  await page.getByRole("heading", { name: "Nora Quist" }).waitFor();
  await see(page, "person-directory");
  await link("Surveyors & Co").click();
  await shows("Members of the group");
  await see(page, "people-group");
  assert.deepEqual(await names(), ["Nora Quist", "Oscar <i>Reed</i>"]);

  // The groups.
  await link("Groups").first().click();
  await page.getByRole("heading", { name: "Groups", exact: true }).waitFor();
  await shows("2 members");
  await see(page, "groups");
  await page.getByLabel("Search").fill("no such group");
  await page.keyboard.press("Enter");
  await shows("No group matches.");
  await page.goto("/settings/groups?q=SURVEY");
  await link("Surveyors & Co").click();
  await shows("Members of the group");

  // The page of the new person: sessions, role, state, password.
  await page.goto("/settings/people?q=paul");
  await link("paul@works.example").click();
  await shows("Signed in with 1 browser or program");
  await see(page, "person");
  // A wrong password is explained, and a test names the rule that refuses a sign-in.
  await page.getByLabel("Signs in with").selectOption("SSO");
  await page.getByLabel("From the address").fill("203.0.113.7");
  await by(page, "Test").click();
  await shows("No SSO connection with a valid certificate covers the domain");
  await page.getByLabel("Signs in with").selectOption("PASSWORD");
  await page.getByLabel("From the address").fill("127.0.0.1");
  await by(page, "Test").click();
  await shows("No rule refuses this sign-in.");
  await see(page, "person-test");
  const assign = async (role) => {
    await by(page, "Change role").click();
    await page.getByLabel("Role", { exact: true }).selectOption(role);
    await see(page, "person-role");
    await by(page.locator("#assign-role"), "Change role").click();
    await confirm();
  };
  await assign("AUDITOR");
  await page.locator("h1 .badge").getByText("Auditor").waitFor();
  await other.page.goto("/settings");
  await other.page.getByRole("heading", { name: "Overview" }).waitFor();
  const sections = await other.page.locator("#sections a").allInnerTexts();
  assert.deepEqual(sections, ["Overview", "Audit log", "Developers"]);
  await see(other.page, "overview-auditor");
  await other.page.goto("/settings/people");
  await other.page.getByRole("heading", { name: "You don't have access to this page" }).waitFor();
  await assign("MEMBER");
  await page.locator("h1 .badge").waitFor({ state: "detached" });
  await by(page, "Reset password").click();
  await see(page, "person-sure");
  await sure("Reset password");
  await confirm();
  await page.getByRole("heading", { name: "Link to set a new password" }).waitFor();
  assert.match(await page.locator("#reset-link [data-link]").innerText(), /\/auth\/login/);
  await see(page, "person-link");
  await by(page, "Done").click();
  await shows("Not signed in anywhere.");
  await by(page, "Disable").click();
  await sure("Disable");
  await page.locator("h1 .badge").getByText("disabled").waitFor();
  await see(page, "person-disabled");
  await by(page, "Delete user").click();
  await sure("Delete user");
  await confirm();
  await page.waitForURL((url) => url.pathname === "/settings/people" && !url.searchParams.has("id"));
  assert.ok(!(await names()).includes("paul@works.example"));
  await page.goto("/settings/people?id=usr_01jz3q4v5w6x7y8z9a0b1c2d3e");
  await shows("Page not found");
  assert.deepEqual([...complaints, ...other.complaints], []);
  await other.context.close();
}
