// Submits the form of the page, unless the user has navigated back to it. Then the button submits it.

const [visit] = performance.getEntriesByType("navigation");

// Some browsers also apply `form-action` to redirects of the form's target.
document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
  if (effectiveDirective === "form-action") document.querySelector("[data-stopped]").hidden = false;
});

if (visit?.type !== "back_forward") document.querySelector("form").submit();
