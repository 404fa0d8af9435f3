/** The built Worker as a server on loopback, in a process group of its own, with a store that outlives a kill. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type BuiltWorker, buildWorker } from "./build.ts";

export type GatewayOptions = {
  /** ORIGIN_URL. */
  origin: string;
  /** ROUTES as a list of tables, given to the Worker as JSON text. Without it: the Worker's default. */
  routes?: readonly Record<string, unknown>[];
  /** More vars; they win over wrangler.toml. */
  vars?: Readonly<Record<string, unknown>>;
  /** More secrets; they win over the fixed test ones. An undefined one is left out. */
  secrets?: Readonly<Record<string, string | undefined>>;
  /** Folder of the store. Without it: a new one under the system's temporary folder, removed by `stop`. */
  persist?: string;
  /** Folder with wrangler.toml; without it this project. */
  project?: string;
  /** A Worker before the project's own; see `buildWorker`. */
  entry?: string;
  /** More of the server's environment. */
  environment?: Readonly<Record<string, string>>;
};

export type Gateway = {
  readonly port: number;
  readonly url: string;
  readonly persist: string;
  /** All that every process of this gateway has written so far. */
  logs(): string;
  /** Ends the process in order and leaves the store. */
  halt(): Promise<void>;
  /** Ends the process in order and removes a store made by `startGateway`. */
  stop(): Promise<void>;
  /** SIGKILL to the whole process group; the store stays as it is. */
  kill(): Promise<void>;
  /** Starts again on the same store, with other options where given; the port is a new one. */
  restart(changes?: Partial<GatewayOptions>): Promise<void>;
};

/** The operators every test gateway knows: two who may do everything, and one who may only read. */
export const OPERATORS = {
  first: { token: "op1.first-operator-secret", roles: ["read", "resolve"] },
  second: { token: "op2.second-operator-secret", roles: ["read", "resolve"] },
  reader: { token: "op3.reading-operator-secret", roles: ["read"] },
} as const;

/** Fixed test keys, base64 of 32 bytes. */
export const TEST_KEYS = {
  NAMING_KEY: Buffer.alloc(32, 0x4e).toString("base64"),
  SEALING_KEY: Buffer.alloc(32, 0x53).toString("base64"),
} as const;

const START_MS_MAX = 30_000;
const STOP_MS_MAX = 10_000;
const SERVE = join(import.meta.dirname, "serve.mjs");

/** `OPERATOR_TOKENS` for `OPERATORS`. */
export function describeOperators(): string {
  const list = Object.values(OPERATORS).map(({ token, roles }) => {
    const [id = "", secret = ""] = token.split(".");
    return { id, sha256: createHash("sha256").update(secret).digest("hex"), roles };
  });
  return JSON.stringify(list);
}

type Server = { child: ChildProcess; port: number };

/** Builds the Worker if need be and serves it. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const persist = options.persist ?? (await mkdtemp(join(tmpdir(), "oncegate-test-")));
  const written: string[] = [];
  let current = options;
  let server = await startServer(current, persist, written);
  return {
    get port() {
      return server.port;
    },
    get url() {
      return `http://127.0.0.1:${server.port}`;
    },
    persist,
    logs: () => written.join(""),
    halt: () => haltServer(server),
    async stop() {
      await haltServer(server);
      if (options.persist === undefined) await rm(persist, { recursive: true, force: true });
    },
    kill: () => killServer(server),
    async restart(changes = {}) {
      await haltServer(server);
      current = { ...current, ...changes };
      server = await startServer(current, persist, written);
    },
  };
}

function describeBindings(worker: BuiltWorker, options: GatewayOptions): Record<string, unknown> {
  const { origin, routes, vars = {}, secrets = {} } = options;
  const bindings: Record<string, unknown> = {
    ...worker.vars,
    ...TEST_KEYS,
    OPERATOR_TOKENS: describeOperators(),
    ORIGIN_URL: origin,
    ...(routes === undefined ? {} : { ROUTES: JSON.stringify(routes) }),
    ...vars,
    ...secrets,
  };
  return Object.fromEntries(Object.entries(bindings).filter(([, value]) => value !== undefined));
}

async function startServer(options: GatewayOptions, persist: string, written: string[]): Promise<Server> {
  const worker = await buildWorker(options.project, options.entry ?? null);
  const child = spawn(process.execPath, [SERVE], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...process.env, NO_COLOR: "1", MINIFLARE_WORKERD_CONFIG_DEBUG: "", ...options.environment },
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => written.push(text));
  }
  const settings = { worker, bindings: describeBindings(worker, options), persist };
  child.send({ kind: "start", settings });
  const message = await Promise.race([
    once(child, "message").then(
      ([first]) => first as { kind: "ready"; port: number } | { kind: "failed"; text: string },
    ),
    once(child, "exit").then(([code]) => ({ kind: "failed", text: `ended with ${code}` }) as const),
    sleep(START_MS_MAX, { kind: "failed", text: "took too long" } as const, { ref: false }),
  ]);
  if (message.kind === "ready") return { child, port: message.port };
  await killServer({ child, port: 0 });
  throw new Error(`the gateway did not start: ${message.text}\n${written.join("")}`);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function haltServer(server: Server): Promise<void> {
  const { child } = server;
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  if (child.connected) child.send({ kind: "stop" });
  await Promise.race([ended, sleep(STOP_MS_MAX, undefined, { ref: false })]);
  if (!hasEnded(child)) await killServer(server);
}

async function killServer({ child }: Server): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const ended = once(child, "exit");
  process.kill(-child.pid, "SIGKILL");
  await ended;
}
