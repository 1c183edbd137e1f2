// A mail server that stores what it receives (RFC 5321), as far as a client that only sends needs it.
import { once } from "node:events";
import { createServer } from "node:net";

/** Decodes the text of a message: quoted-printable, as the server sends it. */
const decoded = (message) =>
  message.replace(/=\r?\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Starts the server on this local port. */
export async function mailbox(port) {
  const received = [];
  const waiting = [];
  const server = createServer((socket) => {
    let message;
    let rest = "";
    socket.setEncoding("utf8").write("220 mailbox\r\n");
    socket.on("error", () => {});
    socket.on("data", (text) => {
      const lines = (rest + text).split("\r\n");
      rest = lines.pop();
      for (const line of lines) {
        if (message) {
          if (line !== ".") {
            message.push(line);
            continue;
          }
          received.push(decoded(message.join("\n")));
          message = undefined;
          waiting.splice(0).forEach((wake) => wake());
          socket.write("250 kept\r\n");
        } else if (/^DATA/i.test(line)) {
          message = [];
          socket.write("354 go on\r\n");
        } else {
          socket.write(/^QUIT/i.test(line) ? "221 bye\r\n" : "250 fine\r\n");
        }
      }
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    /** Takes the next message to this address and returns the link in it. */
    async link(to) {
      for (;;) {
        const place = received.findIndex((message) => message.includes(`To: ${to}`));
        if (place >= 0) return received.splice(place, 1)[0].match(/https?:\/\/\S+/)[0];
        await new Promise((wake) => { waiting.push(wake); });
      }
    },
    close: () => server.close(),
  };
}
