// Uses the generated types with openapi-fetch on a running server, and reads an answer of each kind.
// check.js BASE_URL with TENANT, EMAIL, PASSWORD and SCIM_TOKEN, for an administrator without a second factor.
import assert from "node:assert/strict";
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
type Answer<Data, Problem> = { data?: Data; error?: Problem; response: Response };

const base = process.argv[2] ?? "";
const variable = (name: string): string => process.env[name] ?? assert.fail(`no ${name}`);
const [tenant, email, password] = [variable("TENANT"), variable("EMAIL"), variable("PASSWORD")];
let answers = 0;

/** Returns the body of an answer with this status. */
function answered<Data, Problem>({ data, error, response }: Answer<Data, Problem>, status = 200): Data {
  assert.equal(response.status, status, `${response.url}: ${JSON.stringify(error)}`);
  answers += 1;
  return data as Data;
}

/** Returns the body of a problem with this status. */
function refused<Data, Problem>({ error, response }: Answer<Data, Problem>, status: number): NonNullable<Problem> {
  assert.equal(response.status, status, response.url);
  answers += 1;
  return error ?? assert.fail(`${response.url}: no body`);
}

/** Waits up to 30 seconds for a value, and returns it. */
async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 30_000; Date.now() < end;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return assert.fail(`not in time: ${what}`);
}

const cookies = new Map<string, string>();
const browser: Middleware = {
  onRequest({ request }) {
    request.headers.set("origin", base);
    request.headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    return request;
  },
  onResponse({ response }) {
    for (const line of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split(/=(.*)/s);
      cookies.set(name, value);
    }
  },
};
const nobody = createClient<paths>({ baseUrl: base });
const admin = createClient<paths>({ baseUrl: base });
admin.use(browser);
const scim = createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${variable("SCIM_TOKEN")}` } });

// Operations without a credential.
answered(await nobody.GET("/api/developers/openapi.json"));
answered(await nobody.GET("/api/developers/events.json"));
const unknown: Schemas["Error"] = refused(await nobody.GET("/api/me"), 401);
assert.equal(unknown.code, "UNAUTHENTICATED");
const ways: Schemas["WaysIn"] = answered(await nobody.POST("/api/auth/sign-in/providers", { body: { tenant } }));
assert.deepEqual(ways.providers, []);

// Signing in, and the user's own account.
const signIn = await admin.POST("/api/auth/sign-in", { body: { tenant, email, password } });
const signedIn: Schemas["SignInAnswer"] = answered(signIn);
assert.equal(signedIn.status, "SIGNED_IN");
const me: Schemas["Me"] = answered(await admin.GET("/api/me"));
assert.deepEqual([me.email, me.role, me.tenant.slug], [email, "ADMIN", tenant]);
const phoneNumbers: Schemas["Phone"][] = [{ value: "+1 555 0100", type: "work" }];
const change = { body: { displayName: "Ada", phoneNumbers } };
const named: Schemas["Me"] = answered(await admin.PATCH("/api/me", change));
assert.deepEqual([named.displayName, named.phoneNumbers], ["Ada", phoneNumbers]);
const beat: Schemas["Heartbeat"] = answered(await admin.POST("/api/me/sessions/heartbeat"));
assert.ok(beat.nextHeartbeatSeconds > 0);
const { sessions }: Schemas["SessionList"] = answered(await admin.GET("/api/me/sessions"));
assert.deepEqual(sessions.filter(({ current }) => current).map(({ id }) => id), [beat.session.id]);
const { factors }: Schemas["FactorList"] = answered(await admin.GET("/api/me/factors"));
assert.deepEqual(factors, []);
const { webauthn }: Schemas["PasskeySetup"] = answered(await admin.POST("/api/me/factors/passkeys/options"));
assert.equal(typeof webauthn.challenge, "string");
const mint = { body: { name: "tool", scopes: ["read:profile" as const] } };
const token: Schemas["ShownPat"] = answered(await admin.POST("/api/me/tokens", mint));
assert.match(token.token ?? "", /^pat_/);
const { tokens }: Schemas["PatList"] = answered(await admin.GET("/api/me/tokens"));
assert.deepEqual(tokens.map(({ id, scopes }) => [id, scopes]), [[token.id, ["read:profile"]]]);
const path = { id: token.id };
const revoked: Schemas["Deleted"] = answered(await admin.DELETE("/api/me/tokens/{id}", { params: { path } }));
assert.equal(revoked.deleted, true);
const one = { params: { query: { limit: 1 } } };
const people: Schemas["PersonList"] = answered(await admin.GET("/api/people", one));
assert.equal(people.users[0]?.id, me.id);
const query = { purpose: "PAYROLL_SEAL" as const };
const status: Schemas["StepUpStatus"] = answered(await admin.GET("/api/auth/step-up/status", { params: { query } }));
assert.deepEqual([status.purpose, status.active], ["PAYROLL_SEAL", false]);
const withoutStepUp = await admin.POST("/api/settings/scim-tokens", { body: { name: "Okta" } });
const stepUp: Schemas["Error"] = refused(withoutStepUp, 401);
assert.deepEqual([stepUp.code, stepUp.purpose], ["STEP_UP_REQUIRED", "SCIM_TOKEN_MINT"]);

// Settings.
const { users }: Schemas["UserPage"] = answered(await admin.GET("/api/settings/users"));
assert.deepEqual(users.map(({ id, role }) => [id, role]), [[me.id, "ADMIN"]]);
const { signInMode, mfa }: Schemas["SignInPolicy"] = answered(await admin.GET("/api/settings/sign-in-policy"));
assert.deepEqual([signInMode, mfa.required], ["SSO_ALLOWED", false]);
const network: Schemas["ShownPolicy"] = answered(await admin.GET("/api/settings/network-policy"));
assert.deepEqual([network.mode, network.enforcement.API, network.rules], ["OFF", true, []]);
const probe = { body: { ips: ["192.0.2.1"], surface: "API" as const } };
const probed: Schemas["NetworkTest"] = answered(await admin.POST("/api/settings/network-policy/test", probe));
assert.ok("decisions" in probed && probed.decisions[0]?.reason === "MODE_OFF");
const { policy, catalog }: Schemas["PolicyAndCatalog"] = answered(await admin.GET("/api/settings/attestation-policy"));
assert.ok(policy.mode === "OFF" && catalog.length > 0);
const minted: Schemas["ScimTokenList"] = answered(await admin.GET("/api/settings/scim-tokens"));
assert.equal(minted.tokens[0]?.token, undefined);
const saml: Schemas["SamlProviderList"] = answered(await admin.GET("/api/settings/saml-providers"));
assert.deepEqual(saml, { providers: [], signInMode: "SSO_ALLOWED" });
const { domains }: Schemas["DomainList"] = answered(await admin.GET("/api/settings/domains"));
assert.deepEqual(domains, []);

// Webhooks.
const body = { name: "payroll", url: "http://127.0.0.1:1/", eventFilters: ["ACCOUNT_*"] };
const hook: Schemas["WebhookSubscription"] = answered(await admin.POST("/api/settings/webhooks", { body }));
assert.match(hook.secret ?? "", /^whsec_/);
const its = { params: { path: { id: hook.id } } };
const changed = await admin.PATCH("/api/settings/webhooks/{id}", { ...its, body: { enabled: false } });
assert.deepEqual([answered(changed).enabled, answered(changed).secret], [false, undefined]);
const { subscriptions }: Schemas["WebhookList"] = answered(await admin.GET("/api/settings/webhooks"));
assert.deepEqual(subscriptions.map(({ id }) => id), [hook.id]);
assert.deepEqual(answered(await admin.DELETE("/api/settings/webhooks/{id}", its)), { deleted: true });
assert.equal(refused(await admin.GET("/api/settings/webhooks/{id}", its), 404).code, "NOT_FOUND");

// The audit log: JSON, CSV, and a note in plain text.
const { entries }: Schemas["AuditPage"] = answered(await admin.GET("/api/settings/audit-log"));
assert.equal(entries[0]?.action, "ACCOUNT_WEBHOOK_DELETED");
const { days }: Schemas["Activity"] = answered(await admin.GET("/api/settings/audit-log/activity"));
assert.ok(days.some(({ count }) => count > 0));
const csv: string = answered(await admin.GET("/api/settings/audit-log/export", { parseAs: "text" }));
assert.match(csv, /ACCOUNT_WEBHOOK_DELETED/);
const checkpoint = "/api/settings/audit-log/checkpoint";
const note = await until("a checkpoint", async () => (await admin.GET(checkpoint, { parseAs: "text" })).data);
const shown = answered(await admin.GET(checkpoint, { headers: { accept: "application/json" } }));
assert.ok(typeof shown === "object" && shown.size > 0 && typeof note === "string" && note.startsWith(shown.origin));

// SCIM.
const config = answered(await nobody.GET("/api/scim/v2/ServiceProviderConfig"));
assert.ok(Array.isArray(config.schemas));
const resources: Schemas["ScimList"] = answered(await scim.GET("/api/scim/v2/ResourceTypes"));
assert.deepEqual(resources.Resources.map(({ id }) => id).sort(), ["Group", "User"]);
const emails = [{ value: "bjensen@example.com", primary: true }];
const person: Schemas["ScimUserBody"] = { userName: "bjensen", emails };
const made = await scim.POST("/api/scim/v2/Users", { body: person });
const user: Schemas["ScimUser"] = answered(made, 201);
assert.equal(made.response.headers.get("location"), user.meta?.location);
const theirs = { params: { path: { id: user.id } } };
assert.equal(answered(await scim.GET("/api/scim/v2/Users/{id}", theirs)).userName, "bjensen");
const filter = { params: { query: { filter: 'userName eq "bjensen"' } } };
const found: Schemas["ScimUserList"] = answered(await scim.GET("/api/scim/v2/Users", filter));
assert.deepEqual([found.totalResults, found.Resources[0]?.id], [1, user.id]);
const patch: Schemas["ScimPatch"] = {
  Operations: [{ op: "replace", path: "title", value: "Guide" }, { op: "add", value: { nickName: "Babs" } }],
};
const patched: Schemas["ScimUser"] = answered(await scim.PATCH("/api/scim/v2/Users/{id}", { ...theirs, body: patch }));
assert.deepEqual([patched.title, patched.nickName], ["Guide", "Babs"]);
const members = [{ value: user.id }];
const group: Schemas["ScimGroup"] =
  answered(await scim.POST("/api/scim/v2/Groups", { body: { displayName: "Tours", members } }), 201);
assert.equal(group.members?.[0]?.value, user.id);
const mine = { params: { path: { id: group.id } } };
const empty: Schemas["ScimPatch"] = { Operations: [{ op: "remove", path: "members" }] };
const emptied = await scim.PATCH("/api/scim/v2/Groups/{id}", { ...mine, body: empty });
assert.equal(answered(emptied).members?.length ?? 0, 0);
const { Resources }: Schemas["ScimGroupList"] = answered(await scim.GET("/api/scim/v2/Groups"));
assert.deepEqual(Resources.map(({ id }) => id), [group.id]);
answered(await scim.DELETE("/api/scim/v2/Groups/{id}", mine), 204);
answered(await scim.DELETE("/api/scim/v2/Users/{id}", theirs), 204);
const gone: Schemas["ScimError"] = refused(await scim.GET("/api/scim/v2/Users/{id}", theirs), 404);
assert.equal(gone.status, "404");
const closed: Schemas["ScimRefusal"] | Schemas["ScimError"] = refused(await nobody.GET("/api/scim/v2/Users"), 401);
assert.equal(closed.status, "401");

const left: Schemas["Revoked"] = answered(await admin.POST("/api/auth/sign-out"));
assert.equal(left.revoked, true);
console.log(`${answers} answers read`);
