// The server, the users and the browser that all tests share.
// Arguments: BASE_URL FOLDER FACTS [ONLY]. ONLY is a part of the names of the tests to run.
import { authenticator, launch, look, somebody } from "./eyes.mjs";

/** The address of the server, the folder for screenshots, and a part of the names of the tests to run. */
export const [base, folder, given, only = ""] = process.argv.slice(2);
/** The test data: see browser.rs. */
export const facts = JSON.parse(given);
export const browser = await launch();
/** Takes screenshots of the page and checks them. */
export const see = (page, name) => look(page, name, folder);
/** Finds a button by its whole name. */
export const by = (page, name) => page.getByRole("button", { name, exact: true });

/** Waits for the preview of a changed policy. It moves the buttons below it, and a click on a moving button is lost. */
export const previewed = (page) => page.locator("[data-impact]:not([aria-busy=true])").waitFor({ state: "attached" });

/** Signs in with a password. */
export async function signIn(page, email, password = facts.password, place = "/auth/login") {
  await page.goto(place);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await by(page, "Sign in").click();
}

/** Waits until the page has this path. */
export const at = (page, path) => page.waitForURL((url) => url.pathname === path);

let works;

/** Returns the administrator of Works, with a passkey. All walks share this user. */
export async function administrator() {
  if (works) return works;
  const one = await somebody(browser, base);
  await authenticator(one.page);
  await signIn(one.page, "hana@example.com", facts.password, "/auth/login?next=/account/security");
  await at(one.page, "/account/security");
  await by(one.page, "Add a passkey").click();
  await by(one.page, "I saved the codes").click();
  await one.page.getByText("10 unused recovery codes.").waitFor();
  const confirm = () => by(one.page.locator("#step-up"), "Confirm").click();
  works = { ...one, confirm };
  return works;
}
