// Tests that independent receivers accept every delivery and refuse forgeries, also during a secret rotation.
// check.mjs BASE_URL ROOT, with PROGRAM, PYTHON, TENANT, TOKEN, EMAIL, PASSWORD and the server's own variables.
import assert from "node:assert/strict";
import { Gatehouse } from "./gatehouse.mjs";
import { kinds, recorder, send, start, until } from "./receivers.mjs";
import { forgeries, genuine, signed } from "./signing.mjs";

const [base, root] = process.argv.slice(2);
const { isSigned } = await import(`${root}/docs/receivers/public-key.mjs`);
const { PROGRAM, PYTHON, TENANT, TOKEN, EMAIL, PASSWORD } = process.env;
const gatehouse = new Gatehouse({ base, program: PROGRAM, tenant: TENANT, token: TOKEN });
const all = Object.entries(kinds(root, PYTHON));
const startAll = (secretsOf) => Promise.all(all.map((kind) => start(kind, secretsOf(kind[0]))));
const hooks = "/api/settings/webhooks";
const subscribe = (name, url) =>
  gatehouse.requestWithToken("POST", hooks, { name, url, eventFilters: ["ACCOUNT_USER_*"] });
const refusal = { status: 401, code: "WEBHOOK_INVALID_SIGNATURE" };
const success = { status: 204 };

// Each receiver has its own webhook and also the recorder's secret. Its address is known only once it runs.
const records = await recorder();
const recorded = await subscribe("recorder", records.url);
const own = new Map();
for (const [name] of all) own.set(name, await subscribe(name, "http://127.0.0.1:1/"));
const receivers = await startAll((name) => [own.get(name).secret, recorded.secret]);
for (const { name, url } of receivers) {
  await gatehouse.requestWithToken("PATCH", `${hooks}/${own.get(name).id}`, { url: `${url}/hooks` });
}

const events = async (count) => {
  await until(`event ${count}`, () => records.kept.length >= count);
  return records.kept;
};

// Every receiver accepts every event at the first attempt.
for (const name of ["ada", "grace", "edsger"]) await gatehouse.createUser(`${name}@example.com`);
const ids = (await events(3)).map(({ headers }) => headers["x-service-event-id"]).sort();
for (const { name, accepted } of receivers) {
  await until(`three events at ${name}`, () => accepted().length >= 3);
  assert.deepEqual(accepted().sort(), ids, name);
  const { deliveries } = await until(`three deliveries to ${name}`, async () => {
    const list = await gatehouse.requestWithToken("GET", `${hooks}/${own.get(name).id}/deliveries`);
    return list.deliveries.every(({ status }) => status === "SUCCEEDED") && list;
  });
  const attempts = deliveries.map(({ eventId, attempt, httpStatus }) => [eventId, attempt, httpStatus]).sort();
  assert.deepEqual(attempts, ids.map((id) => [id, 1, 204]), name);
  const tested = await gatehouse.requestWithToken("POST", `${hooks}/${own.get(name).id}/test`);
  assert.equal(tested.httpStatus, 204, name);
  await until(`a test at ${name}`, () => accepted().length === 4);
}

// Receivers refuse forgeries, and ignore deliveries that they have already accepted.
const [sample] = records.kept;
let refused = 0;
for (const { name, url, accepted } of receivers) {
  const before = accepted().length;
  const edges = genuine(recorded.secret);
  for (const [what, copy] of Object.entries(edges)) {
    assert.deepEqual(await send(url, copy), success, `${name}: ${what}`);
  }
  const known = Object.values(edges).map(({ id }) => id);
  await until(`the deliveries of the test at ${name}`, () => accepted().length === before + known.length);
  assert.deepEqual(accepted().slice(before), known);

  assert.deepEqual(await send(url, sample), success, `${name}: a repeated delivery`);
  for (const source of [sample, edges["signed here"]]) {
    for (const [what, copy] of Object.entries(forgeries(source, recorded.secret, "whsec_bm90IHRoaXMgb25l"))) {
      assert.deepEqual(await send(url, copy), refusal, `${name}: ${what}`);
      refused += 1;
    }
  }
  if (name.startsWith("receiver.")) {
    // The signature does not cover the event ID's header, so an eavesdropper can change it.
    const renamed = { ...sample, headers: { ...sample.headers, "x-service-event-id": "evt_other" } };
    assert.deepEqual(await send(url, renamed), success, name);
    const large = signed(recorded.secret, { body: Buffer.alloc(8 << 20, " ") });
    assert.ok([413, 0].includes((await send(url, large)).status), `${name}: a large body`);
  }
  assert.equal(accepted().length, before + known.length, `${name} accepted a forgery`);
}

// A receiver that has only the public keys verifies the same deliveries.
const { tenantId } = JSON.parse(sample.body);
const keysOf = async (id) => {
  const response = await fetch(`${base}/.well-known/webhooks/${tenantId}/${id}`);
  assert.match(response.headers.get("cache-control"), /^max-age=300$/);
  return (await response.json()).keys;
};
const [firstKeys, foreignKeys] = [await keysOf(recorded.id), await keysOf(own.get(all[0][0]).id)];
assert.equal(firstKeys.length, 1);
assert.ok(isSigned(sample, firstKeys));
assert.ok(!isSigned(sample, foreignKeys), "each webhook has its own key");
const altered = { ...sample, body: Buffer.concat([sample.body, Buffer.from(" ")]) };
assert.ok(!isSigned(altered, firstKeys));

// During a rotation, receivers have the old secret, the new one, or both.
await gatehouse.signIn(EMAIL, PASSWORD);
const rotated = await gatehouse.postWithStepUp(`${hooks}/${recorded.id}/rotate-secret`, { overlapHours: 1 });
assert.ok(rotated.rotatingUntil && rotated.secret !== recorded.secret);
const renewed = await startAll(() => [rotated.secret]);
const overlapping = await startAll(() => [recorded.secret, rotated.secret]);
records.audience = [...receivers, ...renewed, ...overlapping];

/** Causes an event, and asserts which receivers accept it. */
async function createEvent(name, isExpected) {
  const count = records.kept.length;
  await gatehouse.createUser(`${name}@example.com`);
  const copy = (await events(count + 1))[count];
  assert.equal(copy.answers.length, 3 * all.length);
  for (const [receiver, answer] of copy.answers) {
    const knows = receivers.includes(receiver) ? "the old" : renewed.includes(receiver) ? "the new" : "both";
    const right = isExpected(receiver, knows) ? success : refusal;
    assert.deepEqual(answer, right, `${name}: ${receiver.name}, which has ${knows}`);
  }
  return copy;
}

// The header of the specification is still signed with the old secret; that of Standard Webhooks has both signatures.
const during = await createEvent("during", ({ headers }, knows) => knows !== "the new" || headers === "standard");
assert.match(during.headers["x-service-signature"], /^v1=[0-9a-f]{64}$/);
const versions = ({ headers }) => headers["webhook-signature"].split(" ").map((value) => value.split(",")[0]);
assert.deepEqual(versions(during), ["v1", "v1", "v1a", "v1a"]);
const bothKeys = await keysOf(recorded.id);
assert.equal(bothKeys.length, 2);
for (const key of bothKeys) assert.ok(isSigned(during, [key]));
assert.ok(!bothKeys.some((key) => !firstKeys.some(({ kid }) => kid === key.kid) && isSigned(sample, [key])));
const { "x-service-signature-next": next, ...others } = during.headers;
const changed = { ...during, headers: { ...others, "x-service-signature": next } };
for (const { name, url } of renewed) assert.deepEqual(await send(url, changed), success, `${name}: the next signature`);
const late = { ...during, headers: { ...others, "x-service-timestamp": "1", "webhook-timestamp": "1" } };
for (const { name, url } of records.audience) assert.deepEqual(await send(url, late), refusal, `${name}: later`);

await gatehouse.postWithStepUp(`${hooks}/${recorded.id}/rotate-secret/complete`);
const after = await createEvent("after", (_, knows) => knows !== "the old");
assert.ok(!("x-service-signature-next" in after.headers));
assert.deepEqual(versions(after), ["v1", "v1a"]);
const lastKeys = await keysOf(recorded.id);
assert.ok(lastKeys.length === 1 && isSigned(after, lastKeys) && !isSigned(after, firstKeys));

// Receivers also got these events through their own webhooks.
for (const { name, accepted } of receivers) {
  for (const { headers } of [during, after]) {
    await until(`all events at ${name}`, () => accepted().includes(headers["x-service-event-id"]));
  }
  // Three events, a test, three signed here, two of the rotation.
  assert.equal(accepted().length, 9, `${name} accepted ${accepted()}`);
}
console.log(`webhooks: ${all.length} kinds of receivers accepted all events and refused ${refused} forgeries`);
process.exit(0);
