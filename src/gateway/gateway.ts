/** What the gateway's functions are given: everything is made once an isolate from the configuration. */
import type { Config, RoutePolicy } from "../core/policy.ts";
import type { Keyring, Report } from "../core/ports.ts";
import { compilePrincipal, type PrincipalReader } from "./admission/principal.ts";
import { compileRoutes, type Matcher } from "./admission/route.ts";
import { IsolateObserver } from "./audit/observer.ts";
import { AnswerCache } from "./cache.ts";
import { Counters } from "./counters.ts";

export type SendRequest = (request: Request, init: RequestInit) => Promise<Response>;

export type Gateway = {
  config: Config;
  prefix: string;
  match: Matcher;
  policyOf: (route: string) => RoutePolicy | null;
  principalOf: (policy: RoutePolicy) => PrincipalReader;
  keyring: Keyring;
  cache: AnswerCache;
  counters: Counters;
  /** Null: no ledger is kept, so nothing is to be noted. */
  observer: IsolateObserver | null;
  send: SendRequest;
  originUrl: (target: string) => string;
  report: Report;
};

export type GatewayParts = Pick<Gateway, "config" | "keyring" | "send" | "originUrl" | "report">;

export function makeGateway(parts: GatewayParts): Gateway {
  const { routes, prefix, ledger } = parts.config;
  const policies = new Map(routes.map((policy) => [policy.id, policy]));
  const principals = new Map(routes.map((policy) => [policy.id, compilePrincipal(policy)]));
  return {
    ...parts,
    prefix,
    match: compileRoutes(routes),
    policyOf: (route) => policies.get(route) ?? null,
    principalOf(policy) {
      const reader = principals.get(policy.id);
      if (reader === undefined) throw new Error("every route has a principal reader");
      return reader;
    },
    cache: new AnswerCache(),
    counters: new Counters(),
    observer: ledger.sinks.includes("none") ? null : new IsolateObserver(parts.report),
  };
}
