/**
 * One store, and builds of the gateway that take turns on it: the one that is deployed, the gated one, and a gated one that
 * writes a later version of the record.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { GatewayOptions } from "../support/gateway.ts";
import { type Capture, captureGateway, Runtime } from "../support/runtime.ts";
import { makeLaterProject } from "./later.ts";

export type Build = "product" | "gated" | "later";

export type ChaosGatewayOptions = {
  origin: string;
  /** Where the gated build asks whether it may go on. */
  control: string;
  routes: readonly Record<string, unknown>[];
  /** Folder of everything that the gateway stores. */
  store: string;
  /** Folder of what is needed to start it, and of nothing that it stores. */
  shelf: string;
};

/** Shards of the ledger; two, so that one can be ahead of the other. */
export const SHARDS = 2;

/** Stands before the product's own Worker, and adds the places to stand still at. */
export const GATED_ENTRY = "test/chaos/gated/worker.ts";

export class ChaosGateway {
  readonly #captures: Readonly<Record<Build, Capture>>;
  readonly #runtime: Runtime;
  #port = 0;

  private constructor(captures: Readonly<Record<Build, Capture>>, runtime: Runtime) {
    this.#captures = captures;
    this.#runtime = runtime;
  }

  /** Builds all, and runs none. */
  static async open(options: ChaosGatewayOptions): Promise<ChaosGateway> {
    const { origin, control, routes, store, shelf } = options;
    const shared: GatewayOptions = {
      origin,
      routes,
      persist: store,
      vars: { LEDGER_SHARDS: String(SHARDS), CHAOS_CONTROL: control },
    };
    const product = await captureInto(join(shelf, "product"), shared);
    const gated = await captureInto(join(shelf, "gated"), { ...shared, entry: GATED_ENTRY });
    const project = await makeLaterProject();
    const later = await captureInto(join(shelf, "later"), { ...shared, entry: GATED_ENTRY, project });
    return new ChaosGateway({ product, gated, later }, new Runtime());
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number | null {
    return this.#runtime.pid;
  }

  takeLogs(): string {
    return this.#runtime.takeLogs();
  }

  async start(build: Build): Promise<void> {
    this.#port = await this.#runtime.start(this.#captures[build]);
  }

  /** SIGKILL; the store stays as it is. */
  kill(): Promise<void> {
    return this.#runtime.kill();
  }

  /** SIGSTOP, and SIGCONT after a while. */
  pause(ms: number): Promise<void> {
    return this.#runtime.pause(ms);
  }

  close(): Promise<void> {
    return this.#runtime.close();
  }
}

async function captureInto(folder: string, options: GatewayOptions): Promise<Capture> {
  await mkdir(folder, { recursive: true });
  return captureGateway(options, folder);
}
