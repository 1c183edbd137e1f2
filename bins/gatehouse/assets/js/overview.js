// The overview. Everything on it is in the page. The organization can be renamed.

import { $, onAct, onSend, open } from "./page.js";
import { keepAlive, mine } from "./session.js";

keepAlive();

onAct("rename-tenant", async () => {
  const { value } = $("#tenant-name", open("rename"));
  $("#tenant-name").setSelectionRange(0, value.length);
});

onSend("rename", async (fields) => {
  await mine("PATCH", "/api/settings/tenant", { name: fields.get("name") });
  // The name is in the header too.
  location.reload();
});
