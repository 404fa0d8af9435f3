/** Waits for the gateway's own word that it is sound. */
import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";

const WAIT_MS_MAX = 60_000;
const STEP_MS = 150;

/**
 * Asks until the gateway answers. A 500 is its final word on its configuration; a 503 may still pass.
 *
 * @param {string} url the health address
 * @param {AbortSignal} signal ends the waiting
 * @returns {Promise<{kind: "sound"} | {kind: "refused", status: number, text: string} | {kind: "silent"}>}
 */
export async function waitForHealth(url, signal) {
  const deadline = Date.now() + WAIT_MS_MAX;
  let last = { kind: "silent" };
  while (Date.now() < deadline && !signal.aborted) {
    last = await readHealth(url);
    if (last.kind === "sound" || (last.kind === "refused" && last.status === 500)) return last;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  return last;
}

function readHealth(url) {
  const get = url.startsWith("https:") ? getHttps : getHttp;
  return new Promise((resolve) => {
    // Local https comes with a certificate that wrangler made itself.
    const request = get(url, { timeout: 5_000, rejectUnauthorized: false, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        if (text.length < 4_096) text += chunk;
      });
      response.on("error", () => resolve({ kind: "silent" }));
      response.on("end", () => {
        const status = response.statusCode ?? 0;
        resolve(status === 200 ? { kind: "sound" } : { kind: "refused", status, text: text.trim() });
      });
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve({ kind: "silent" }));
  });
}
