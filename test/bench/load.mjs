/**
 * The load generator: its own process, not measured. Keeps `connections` sockets busy, each with one request
 * at a time, until `seconds` are over or `requests` were sent; whichever is first. Told what to do by
 * messages { port, path, body, keys, mode, connections, seconds, requests, expect: { status, mark } }, it
 * answers each with { kind: "done", completed, wrong, sample, errors, seconds, latency } (latency: median and
 * 99th percentile in ms).
 *
 * `mode`: "fresh" never sends a key twice, "cycle" goes round the first `keys` ones, "none" sends no key.
 * `mark` is the Idempotency-Status every answer must carry; null: not looked at.
 */
import { connect } from "node:net";
import { parseAnswer } from "./parse-answer.mjs";
import { quantile } from "./statistics.mjs";

const RECONNECTS_MAX = 50;
const GRACE_MS = 10_000;
let freshKeys = 0;

process.on("disconnect", () => process.exit(0));
process.on("message", async (job) => {
  process.send(await runPoint(job));
});
process.send({ kind: "ready", port: 0 });

async function runPoint(job) {
  const point = { job, sent: 0, completed: 0, wrong: 0, sample: null, errors: 0, latencies: [] };
  const started = performance.now();
  point.deadline = started + job.seconds * 1000;
  await Promise.all(Array.from({ length: job.connections }, () => driveConnection(point)));
  return {
    kind: "done",
    completed: point.completed,
    wrong: point.wrong,
    sample: point.sample,
    errors: point.errors,
    seconds: (performance.now() - started) / 1000,
    latency: { p50: quantile(point.latencies, 0.5), p99: quantile(point.latencies, 0.99) },
  };
}

function isOver(point) {
  return point.sent >= point.job.requests || performance.now() >= point.deadline;
}

async function driveConnection(point) {
  while (!isOver(point) && point.errors < RECONNECTS_MAX) await driveSocket(point);
}

/** One socket's life: ends when the point is over, or with an error counted when the server broke it off. */
function driveSocket(point) {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: point.job.port, noDelay: true });
    let received = Buffer.alloc(0);
    let sentAt = 0;
    const sendNext = () => {
      if (isOver(point)) return finish();
      point.sent++;
      sentAt = performance.now();
      socket.write(buildRequest(point));
    };
    const guard = setTimeout(() => finish(new Error("no answer")), point.job.seconds * 1000 + GRACE_MS);
    function finish(error) {
      if (error !== undefined) point.errors++;
      clearTimeout(guard);
      socket.removeAllListeners("close");
      socket.destroy();
      resolve();
    }
    socket.on("connect", sendNext);
    socket.on("error", () => {});
    socket.on("close", () => finish(new Error("closed")));
    socket.on("data", (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answer = parseAnswer(received);
      if (answer === null) return;
      point.latencies.push(performance.now() - sentAt);
      received = received.subarray(answer.size);
      checkAnswer(point, answer);
      sendNext();
    });
  });
}

function checkAnswer(point, answer) {
  point.completed++;
  const { status, mark } = point.job.expect;
  if (answer.status === status && (mark === null || answer.mark === mark)) return;
  point.wrong++;
  point.sample ??= `${answer.status} ${answer.mark ?? "unmarked"}`;
}

function buildRequest({ job, sent }) {
  const lines = [
    `POST ${job.path} HTTP/1.1`,
    "Host: bench.test",
    "Authorization: Bearer bench",
    "Content-Type: application/json",
    `Content-Length: ${job.body.length}`,
  ];
  if (job.mode === "fresh") lines.push(`Idempotency-Key: fresh-${process.pid}-${freshKeys++}`);
  if (job.mode === "cycle") lines.push(`Idempotency-Key: key-${sent % job.keys}`);
  return `${lines.join("\r\n")}\r\n\r\n${job.body}`;
}
