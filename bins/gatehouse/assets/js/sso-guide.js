// Steps at the other side: those of the identity provider that is chosen.

import { $, $$ } from "./page.js";

/** Lets one choose whose steps are shown. */
export function guide() {
  const choice = $("[data-guide]");
  const show = () => {
    const { value } = $("[name=idp]:checked", choice);
    for (const steps of $$("[data-idp]")) steps.hidden = steps.dataset.idp !== value;
  };
  choice.addEventListener("change", show);
  // A browser may have kept another choice than was drawn.
  show();
}

/** Offers a certificate as a file, wherever it is asked for. */
export function offerCertificate(pem) {
  const file = URL.createObjectURL(new Blob([pem], { type: "application/x-pem-file" }));
  for (const link of $$("[data-certificate]")) Object.assign(link, { href: file, hidden: false });
}
