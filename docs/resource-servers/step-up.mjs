// A payroll service that requires a step-up, as RFC 9470 describes. Listens on 127.0.0.1, PORT. GATEHOUSE is the address of
// Gatehouse, which must trust this service as a proxy. TENANT is the ID of the tenant whose payroll this is.
import { createServer } from "node:http";

const PURPOSE = "PAYROLL_SEAL";
const { GATEHOUSE, TENANT, PORT = "8081" } = process.env;
if (!GATEHOUSE || !TENANT) throw new Error("set GATEHOUSE and TENANT");

/** The challenge of RFC 9470, section 3. Clients ask Gatehouse for a step-up with the purpose in `acr_values`. */
const CHALLENGE = [
  'Bearer error="insufficient_user_authentication"',
  'error_description="This action requires a step-up"',
  `acr_values="${PURPOSE}"`,
  'max_age="60"',
].join(", ");

/**
 * Consumes the step-up token of the request at Gatehouse. Returns what the service answers to refuse the request, or
 * `undefined` if it may act.
 */
async function refusal(request) {
  const headers = { "Content-Type": "application/json", "X-Forwarded-For": request.socket.remoteAddress };
  for (const name of ["cookie", "x-stepup-token"]) if (request.headers[name]) headers[name] = request.headers[name];
  let answer, proof;
  try {
    const body = JSON.stringify({ purpose: PURPOSE });
    const options = { method: "POST", headers, body, redirect: "error", signal: AbortSignal.timeout(5_000) };
    answer = await fetch(`${GATEHOUSE}/api/auth/step-up/consume`, options);
    proof = await answer.json();
  } catch {
    return { status: 503, body: { error: "temporarily_unavailable" } }; // Without an answer, do not act.
  }
  if (answer.status === 401) {
    const isSignedIn = ["STEP_UP_REQUIRED", "STEP_UP_INVALID"].includes(proof.code);
    const error = isSignedIn ? "insufficient_user_authentication" : "unauthenticated";
    return { status: 401, challenge: isSignedIn ? CHALLENGE : "Bearer", body: { error, reason: proof.reason } };
  }
  // A step-up for another purpose, or in another tenant, does not authorize this payroll.
  const authorizes = answer.status === 200 && proof.authorized && proof.purpose === PURPOSE && proof.tenantId === TENANT;
  if (answer.status !== 200) console.error(`Gatehouse answered ${answer.status}: ${proof.error}`);
  return authorizes ? undefined : { status: 403, body: { error: "access_denied" } };
}

const server = createServer(async (request, response) => {
  const answer = (status, body, challenge) => {
    if (challenge) response.setHeader("WWW-Authenticate", challenge);
    response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
    response.end(JSON.stringify(body));
  };
  request.resume();
  if (request.method !== "POST" || request.url !== "/payroll/seal") return answer(404, { error: "not_found" });
  const refused = await refusal(request);
  if (refused) return answer(refused.status, refused.body, refused.challenge);
  console.log("sealed"); // The action, once per step-up.
  return answer(200, { sealed: true });
});

server.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
