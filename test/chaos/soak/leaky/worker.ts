/** The gateway as it is, but for a thing that it never lets go of: what a soak has to find. No part of it is in what is deployed. */
import type { Env } from "../../../../src/env.ts";
import product from "../../../../src/worker.ts";

export { KeyObject, LedgerObject, QuotaObject } from "../../../../src/worker.ts";

/** Bytes that are kept of every guarded request. */
const LEAK_BYTES = 1_024;

const kept: Uint8Array[] = [];

export default {
  ...product,
  fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    if (request.method === "POST") kept.push(new Uint8Array(LEAK_BYTES));
    return product.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
