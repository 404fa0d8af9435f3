/** Whether a port can be had. */
import { createServer } from "node:net";
import { PORT_MAX } from "./arguments.mjs";

const TRIES = 50;

/**
 * @param {string} ip
 * @param {number} port
 * @returns {Promise<boolean>} false when somebody listens there already
 */
export function isPortFree(ip, port) {
  return new Promise((resolve) => {
    const probe = createServer();
    // An address that is not ours is for wrangler to explain; only a taken port is said here.
    probe.once("error", (error) => resolve(error.code !== "EADDRINUSE"));
    probe.listen({ port, host: ip === "*" ? undefined : ip, exclusive: true }, () =>
      probe.close(() => resolve(true)),
    );
  });
}

/**
 * Arguments for one more gateway beside one at `port`: a free port above it, and a state folder of its own.
 *
 * @param {string} ip
 * @param {number} port
 * @returns {Promise<string>}
 */
export async function suggestArguments(ip, port) {
  const last = Math.min(port + TRIES, PORT_MAX);
  let candidate = Math.min(port + 1, PORT_MAX);
  while (candidate < last && !(await isPortFree(ip, candidate))) candidate += 1;
  return `--port ${candidate} --persist-to .wrangler/state-${candidate}`;
}
