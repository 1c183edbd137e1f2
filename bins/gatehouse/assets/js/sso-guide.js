// Setup steps for the chosen identity provider.

import { $, $$, say } from "./page.js";

/** Shows the steps of the chosen identity provider. */
export function guide() {
  const choice = $("[data-guide]");
  const show = () => {
    const { value } = $("[name=idp]:checked", choice);
    for (const steps of $$("[data-idp]")) steps.hidden = steps.dataset.idp !== value;
  };
  choice.addEventListener("change", show);
  // The browser may have restored another choice than the rendered one.
  show();
}

/** Continues after the connection was added: with the identity provider chosen then, and the message of that page. */
export function resumeGuide() {
  const [chosen, said] = ["gatehouse.sso.idp", "gatehouse.sso.said"].map((name) => {
    const value = sessionStorage.getItem(name);
    sessionStorage.removeItem(name);
    return value;
  });
  const choice = chosen && $(`[name=idp][value="${chosen}"]`);
  if (choice) choice.checked = true;
  if (said) say(said);
  guide();
}

/** Shows the setup page of a connection that was just added, with the next step. */
export async function continueGuide({ id }) {
  sessionStorage.setItem("gatehouse.sso.said", "SSO connection added. Continue with step 5.");
  sessionStorage.setItem("gatehouse.sso.idp", $("[name=idp]:checked").value);
  // The back button must not offer to add it again.
  location.replace(`?${new URLSearchParams({ provider: id, view: "setup" })}`);
  await new Promise(() => {});
}

/** Sets the download links for our certificate. */
export function offerCertificate(pem) {
  const file = URL.createObjectURL(new Blob([pem], { type: "application/x-pem-file" }));
  for (const link of $$("[data-certificate]")) Object.assign(link, { href: file, hidden: false });
}
