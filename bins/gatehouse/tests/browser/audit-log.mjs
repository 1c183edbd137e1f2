// The audit log, and the proofs that its page verifies.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { changeEmbedded } from "./embedded.mjs";
import { somebody } from "./eyes.mjs";
import { administrator, base, browser, by, see } from "./stage.mjs";
import { consistency, leaves, path, root } from "./trees.mjs";

export const auditLog = {
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
};
