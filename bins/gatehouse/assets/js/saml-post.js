// Sends the form of the page at once. Whoever comes back to the page is not sent on again, but may press the button.

const [visit] = performance.getEntriesByType("navigation");

// Some browsers stop as well where the address that the form is sent to redirects to another host.
document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
  if (effectiveDirective === "form-action") document.querySelector("[data-stopped]").hidden = false;
});

if (visit?.type !== "back_forward") document.querySelector("form").submit();
