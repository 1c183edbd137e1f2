// Changes the API's responses that a page contains.

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const NAMED = { "&#34;": '"', "&#38;": "&", "&#39;": "'", "&#60;": "<", "&#62;": ">" };
const unescaped = (text) => text.replace(/&#[0-9]+;/g, (one) => NAMED[one]);

/** Loads pages that match `pattern` with what `change` makes of the response for this API path. */
export async function changeEmbedded(page, pattern, path, change) {
  await page.route(pattern, async (route) => {
    if (route.request().resourceType() !== "document") return route.fallback();
    const answer = await route.fetch();
    const [before, rest] = (await answer.text()).split(`<template data-answer="${path}">`);
    const end = rest.indexOf("</template>");
    const changed = JSON.stringify(await change(JSON.parse(unescaped(rest.slice(0, end)))));
    await route.fulfill({ response: answer, body: `${before}<template data-answer="${path}">${escaped(changed)}${rest.slice(end)}` });
  });
}
