/** What the gateway will be given: read by wrangler itself, so that files, environments and their order are its own. */
import { basename } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { readOption, readOptions, readVar } from "./arguments.mjs";

/** How the gateway treats the demo origin where nobody says otherwise: as any API that can be asked, but with less patience. */
export const DEMO_ROUTES = [
  {
    origin_timeout: "5s",
    probe: {
      url: "/effects/{effect_id}",
      seal_url: "/effects/{effect_id}/void",
      max_origin_delay: "10s",
    },
  },
];

const READER = "settings of the gateway";

/**
 * Reads `wrangler.toml` and `.dev.vars` (or what the arguments name instead) as `wrangler dev` does, in a thread of its own: wrangler takes
 * a second and a lot of memory, which end with it.
 *
 * @param {readonly string[]} args
 * @returns {Promise<{kind: "read", file: string, services: {binding: string, service: string}[],
 *   vars: Record<string, {from: "secrets" | "config", value: unknown}>} | {kind: "failed", message: string}>}
 */
export function readSettings(args) {
  const workerData = { reader: READER, args };
  const thread = new Worker(new URL(import.meta.url), { workerData, stdout: true, stderr: true });
  return new Promise((resolve) => {
    thread.once("message", resolve);
    thread.once("error", (error) => resolve({ kind: "failed", message: error.message }));
    thread.once("exit", () => resolve({ kind: "failed", message: "wrangler ended without an answer" }));
  }).finally(() => thread.terminate());
}

/**
 * Which origin the gateway will have. A service binding wins, as it does in the Worker; then the command line,
 * `.dev.vars` and `wrangler.toml`.
 *
 * @param {readonly string[]} args
 * @param {Awaited<ReturnType<typeof readSettings>> & {kind: "read"}} settings
 * @returns {{kind: "binding", service: string, from: string} | {kind: "url", url: string, from: string}
 *   | {kind: "none"}} from: where it stands, for people
 */
export function findOrigin(args, { file, services, vars }) {
  const bound = services.find(({ binding }) => binding === "ORIGIN");
  if (bound !== undefined) return { kind: "binding", service: bound.service, from: file };
  const given = readVar(args, "ORIGIN_URL");
  if (given !== null) return { kind: "url", url: given, from: "--var" };
  const found = vars.ORIGIN_URL;
  if (found === undefined) return { kind: "none" };
  return { kind: "url", url: String(found.value), from: found.from === "secrets" ? ".dev.vars" : file };
}

/** Whether the deployer has routes of their own: on the command line, in `.dev.vars` or in `wrangler.toml`. */
export function hasRoutes(args, { vars }) {
  return readVar(args, "ROUTES") !== null || vars.ROUTES !== undefined;
}

/**
 * What that thread does. Rejects where a file can't be read.
 *
 * @param {readonly string[]} args
 */
export async function readFiles(args) {
  const config = readOption(args, ["--config", "-c"]) ?? undefined;
  const env = readOption(args, ["--env", "-e"]) ?? process.env.CLOUDFLARE_ENV;
  const envFiles = readOptions(args, ["--env-file"]);
  const { unstable_readConfig, unstable_getVarsForDev } = await import("wrangler");
  const read = unstable_readConfig({ config, env }, { hideWarnings: true });
  const found = unstable_getVarsForDev(read.userConfigPath, envFiles, read.vars, env, true, read.secrets);
  const vars = Object.entries(found).map(([name, { type, value }]) => {
    return [name, { from: type === "secret_text" ? "secrets" : "config", value }];
  });
  // Only what is asked for leaves the thread: secrets stay in it.
  const wanted = vars.filter(([name]) => ["ORIGIN_URL", "PREFIX", "ROUTES"].includes(name));
  const services = (read.services ?? []).map(({ binding, service }) => ({ binding, service }));
  const file = basename(read.userConfigPath ?? "wrangler.toml");
  return { kind: "read", file, services, vars: Object.fromEntries(wanted) };
}

if (!isMainThread && workerData?.reader === READER) {
  try {
    parentPort.postMessage(await readFiles(workerData.args));
  } catch (error) {
    parentPort.postMessage({ kind: "failed", message: error.message });
  }
}
