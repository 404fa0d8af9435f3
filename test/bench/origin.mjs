/**
 * The API behind every server: its own process, not measured. Any request gets 200 and 111 bytes of JSON, no
 * sooner than its body is read; `/slow` waits 2 s first, `/big` answers 5 MiB. Tells its parent the port,
 * ends with it.
 */
import { createServer } from "node:http";

const SLOW_MS = 2_000;
const BIG_BYTES = 5 * 1024 * 1024;
const ANSWER = Buffer.from(JSON.stringify({ id: "pay_0000000000000000", pad: "x".repeat(73) }));
const BIG = Buffer.alloc(BIG_BYTES, "0123456789abcdef");

const server = createServer((request, response) => {
  request.resume();
  request.on("error", () => {});
  request.on("end", () => {
    if (request.url.startsWith("/slow")) setTimeout(() => send(response, ANSWER), SLOW_MS);
    else send(response, request.url.startsWith("/big") ? BIG : ANSWER);
  });
});

function send(response, body) {
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

// A connection that the origin drops while it is idle would show up as a failed request of the server's.
server.keepAliveTimeout = 0;
server.requestTimeout = 0;
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send({ kind: "ready", port: server.address().port }));
