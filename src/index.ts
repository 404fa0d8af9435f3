/**
 * The package's face for those who embed the gateway in a Worker of their own: the Worker, its Durable Object classes, and the
 * types of what they are configured with.
 */
export type { Config, RoutePolicy } from "./core/policy.ts";
export type { Env } from "./env.ts";
export { type MemoryLeases, makeMemoryLeases } from "./reconcile/memory.ts";
export { default, KeyObject, LedgerObject, QuotaObject } from "./worker.ts";
