/**
 * The runtime alone, as miniflare would start it: ended and started again on one store in a fraction of a second, with
 * one build of the Worker or another.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type GatewayOptions, startGateway } from "./gateway.ts";

/** What miniflare gave the runtime: its arguments, and the path of its configuration. */
export type Capture = { args: readonly string[]; config: string };

const HOST = join(import.meta.dirname, "runtime-host.mjs");
const CAPTURE = join(import.meta.dirname, "capture.mjs");
const START_MS_MAX = 20_000;

/** Starts a gateway once, to apply its migrations and to keep what miniflare makes of its settings in `folder`. */
export async function captureGateway(options: GatewayOptions, folder: string): Promise<Capture> {
  // The configuration names folders below the temporary one, which has to stay.
  const temporary = join(folder, "temporary");
  await mkdir(temporary, { recursive: true });
  const environment = { MINIFLARE_WORKERD_PATH: CAPTURE, CAPTURE_TO: folder, TMPDIR: temporary };
  const gateway = await startGateway({ ...options, environment });
  // In order it would remove them.
  await gateway.kill();
  const args: string[] = JSON.parse(await readFile(join(folder, "args.json"), "utf8"));
  return { args, config: join(folder, "config.bin") };
}

type Message = { kind: "ready"; pid: number; port: number; inspector: number | null } | { kind: "ended" };

/** The same with an inspector of its isolates, at a port of its own. */
export function withInspector({ args, config }: Capture): Capture {
  return { args: [...args, "--inspector-addr=127.0.0.1:0"], config };
}

/** One server at a time. */
export class Runtime {
  readonly #host: ChildProcess;
  readonly #written: string[] = [];
  #pid: number | null = null;
  #inspector: number | null = null;

  constructor() {
    this.#host = spawn(process.execPath, [HOST], { stdio: ["ignore", "pipe", "pipe", "ipc"] });
    for (const stream of [this.#host.stdout, this.#host.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => this.#written.push(text));
    }
  }

  /** Process id of the server; null while there is none. */
  get pid(): number | null {
    return this.#pid;
  }

  /** Port of the server's inspector; null where it was started without one. */
  get inspector(): number | null {
    return this.#inspector;
  }

  /** All that the servers have written since this was asked last. */
  takeLogs(): string {
    return this.#written.splice(0).join("");
  }

  /** Gives the port. Rejects where the server does not come to listen. */
  async start({ args, config }: Capture): Promise<number> {
    this.#host.send({ args, config });
    const message = await this.#next();
    if (message.kind === "ended") throw new Error(`the server did not start: ${this.takeLogs()}`);
    this.#pid = message.pid;
    this.#inspector = message.inspector;
    return message.port;
  }

  /** SIGKILL; comes back when the process is gone. */
  async kill(): Promise<void> {
    if (this.#pid === null) return;
    const ended = this.#next();
    process.kill(this.#pid, "SIGKILL");
    this.#pid = null;
    await ended;
  }

  /** SIGSTOP, and SIGCONT after a while. */
  async pause(ms: number): Promise<void> {
    if (this.#pid === null) return;
    process.kill(this.#pid, "SIGSTOP");
    try {
      await sleep(ms);
    } finally {
      process.kill(this.#pid, "SIGCONT");
    }
  }

  async close(): Promise<void> {
    await this.kill();
    const ended = once(this.#host, "exit");
    this.#host.disconnect();
    await ended;
  }

  async #next(): Promise<Message> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), START_MS_MAX);
    try {
      const [message] = await once(this.#host, "message", { signal: limit.signal });
      return message as Message;
    } finally {
      clearTimeout(timer);
    }
  }
}
