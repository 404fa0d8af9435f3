/**
 * Places at which the gateway stands still until it is killed. It asks whoever drives the run before it goes on; at all
 * places but the armed ones, which stay the same for the life of the process, it doesn't ask.
 */
import { env } from "cloudflare:workers";
import type { GatedPoint } from "../points.ts";

/** `abort`: the object that stands here is to break. */
export type Verdict = "go" | "abort";

let armed: readonly string[] | null = null;

function address(path: string): string {
  return `${Reflect.get(env, "CHAOS_CONTROL")}${path}`;
}

/** `key` is the operation's, null where none is known. Comes back when the run goes on, if it does. */
export async function gate(point: GatedPoint, key: string | null): Promise<Verdict> {
  armed ??= (await (await fetch(address("/armed"))).text()).split(",");
  if (!armed.includes(point)) return "go";
  const place = `/gate?point=${point}&key=${encodeURIComponent(key ?? "")}`;
  const asked = await fetch(address(place), { method: "POST" });
  return (await asked.text()) === "abort" ? "abort" : "go";
}

/** An operation's key is the last segment of its target. */
export function keyOfTarget(target: string): string {
  return target.split("/").at(-1) ?? "";
}
