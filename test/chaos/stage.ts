/** What a run stands on: an origin, a control, a gateway on a store of its own, clients, and the history they write. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Caller } from "./caller.ts";
import { Control } from "./control.ts";
import { ChaosGateway } from "./gateway.ts";
import { type ChaosOrigin, startChaosOrigin } from "./origin-script.ts";
import { Recorder } from "./recorder.ts";

export type ChaosStage = {
  recorder: Recorder;
  caller: Caller;
  origin: ChaosOrigin;
  control: Control;
  gateway: ChaosGateway;
  /** Folder of the store; whoever uses the stage says whether it stays. */
  store: string;
  /** A store in memory makes every write fast, and the races that a kill is aimed at narrow. */
  medium: "disk" | "memory";
};

const ORIGIN_TIMEOUT_S = 3;

/** `statfs(2)`: the type of a file system in memory. */
const TMPFS = 0x01021994;

const SHELF = resolve(import.meta.dirname, "../../.wrangler/chaos");

const runFile = promisify(execFile);

/**
 * A file system of its own for a store, in memory and of this size; gives what ends it. Null where this process may not mount
 * any.
 */
export async function mountStore(store: string, bytes: number): Promise<(() => Promise<void>) | null> {
  try {
    await runFile("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", store]);
  } catch {
    return null;
  }
  return async () => {
    await runFile("umount", ["--lazy", store]);
  };
}

/**
 * Ends everything that it started, whatever `use` does. The gateway is not running when `use` is called. `prepare` is given the
 * folder of the store before anything is in it.
 */
export async function withStage<Result>(
  use: (stage: ChaosStage) => Promise<Result>,
  prepare: (store: string) => Promise<void> = async () => {},
): Promise<Result> {
  await mkdir(SHELF, { recursive: true });
  const folder = await mkdtemp(join(SHELF, "run-"));
  const store = join(folder, "store");
  const shelf = join(folder, "shelf");
  await mkdir(store);
  await prepare(store);
  const medium = (await statfs(store)).type === TMPFS ? "memory" : "disk";
  const recorder = new Recorder();
  const origin = await startChaosOrigin(recorder);
  const control = await Control.open();
  try {
    const routes = describeRoutes();
    const gateway = await ChaosGateway.open({
      origin: origin.url,
      control: control.url,
      routes,
      store,
      shelf,
    });
    try {
      const caller = new Caller(recorder);
      return await use({ recorder, caller, origin, control, gateway, store, medium });
    } finally {
      await gateway.close();
    }
  } finally {
    await origin.close();
    await control.close();
    await rm(shelf, { recursive: true, force: true });
  }
}

/** Of each executor: a route that holds, one whose origin drops repeats, one whose origin can be asked, and one whose keys are free again soon. */
function describeRoutes(): Record<string, unknown>[] {
  const shared = { methods: ["POST"], key: "required", origin_timeout: `${ORIGIN_TIMEOUT_S}s`, window: "1h" };
  const retry = { on_crash: "retry", origin_key: "derived" };
  const probe = {
    probe: { url: "/effects/{effect_id}", seal_url: "/effects/{effect_id}/void", max_origin_delay: "1s" },
  };
  const brief = { window: "1s", quarantine: "0s" };
  return (["object", "worker"] as const).flatMap((executor) =>
    Object.entries({ hold: {}, retry, probe, brief }).map(([name, changes]) => {
      const id = `${executor}-${name}`;
      return { ...shared, executor, id, match: `/${id}/*`, ...changes };
    }),
  );
}
