/**
 * The routes that gateway and key objects of this layer are configured with: one per setting under test, named after it.
 * A key object has bindings of its own, so what it has to know can't be chosen by a single test.
 */

type RouteTable = Readonly<Record<string, unknown>>;

export const AUTHORIZE_URL = "https://authorize.example/check";
export const JWKS_URL = "https://id.example/jwks";
export const JWT_CLAIMS = { issuer: "https://id.example", audience: "payments" } as const;

/** `/id`, where a key is required and everything else is as the changes say. */
export function describeRoute(id: string, changes: RouteTable = {}): RouteTable {
  return { id, match: `/${id}`, methods: ["POST"], key: "required", ...changes };
}

const SEALING_PROBE = {
  url: "/effects/{effect_id}?attempt={attempt}&operation={operation_id}",
  seal_url: "/effects/{effect_id}/void",
};

export const ROUTES: readonly RouteTable[] = [
  describeRoute("pay"),
  describeRoute("worker", { executor: "worker" }),
  describeRoute("worker-short", { executor: "worker", origin_timeout: "10s", max_execution: "10s" }),
  describeRoute("long", { executor: "worker", origin_timeout: "2m" }),
  describeRoute("retry", { on_crash: "retry", origin_key: "derived" }),
  describeRoute("worker-retry", { executor: "worker", on_crash: "retry", origin_key: "derived" }),
  describeRoute("short", { window: "10s", quarantine: "5s" }),
  describeRoute("brief-wait", { wait_max: "50ms" }),
  describeRoute("small", { response_max: "1KiB" }),
  describeRoute("limit", { request_max: "1KiB" }),
  describeRoute("bound", { seal_with_key: true }),
  describeRoute("redact", { redact: ["/card/number"] }),
  describeRoute("durable", { audit: "durable" }),
  describeRoute("quiet", { audit: "off" }),
  describeRoute("quiet-short", { audit: "off", window: "10s", quarantine: "5s" }),
  describeRoute("durable-authorize", { audit: "durable", authorize: AUTHORIZE_URL }),
  describeRoute("durable-short", { audit: "durable", window: "10s", quarantine: "5s" }),
  describeRoute("durable-small", { audit: "durable", response_max: "1KiB" }),
  describeRoute("quota", { quota: { new_keys_per_minute: 2 } }),
  describeRoute("authorize", { authorize: AUTHORIZE_URL, window: "10s", quarantine: "5s" }),
  describeRoute("probe", { probe: { url: "/effects/{effect_id}" } }),
  describeRoute("probe-worker", { probe: { url: "/effects/{effect_id}" }, executor: "worker" }),
  describeRoute("probe-404", { probe: { url: "/effects/{effect_id}", not_found: "none" } }),
  describeRoute("seal", { probe: SEALING_PROBE }),
  describeRoute("seal-worker", { probe: SEALING_PROBE, executor: "worker" }),
  describeRoute("seal-bound", { probe: SEALING_PROBE, seal_with_key: true }),
  describeRoute("seal-redact", { probe: SEALING_PROBE, redact: ["/card/number"] }),
  describeRoute("seal-small", { probe: SEALING_PROBE, response_max: "1KiB" }),
  describeRoute("tenant", { principal: { from: "header", name: "X-Tenant" } }),
  describeRoute("anon", { anonymous: "share" }),
  describeRoute("optional", { key: "optional" }),
];
