// Setup steps for the chosen identity provider.

import { $, $$ } from "./page.js";

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

/** Sets the download links for our certificate. */
export function offerCertificate(pem) {
  const file = URL.createObjectURL(new Blob([pem], { type: "application/x-pem-file" }));
  for (const link of $$("[data-certificate]")) Object.assign(link, { href: file, hidden: false });
}
