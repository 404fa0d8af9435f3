/** Step 1: which policy a request falls under. */
import { slashReading, type TargetReading, unreservedReading } from "../../core/http/target.ts";
import type { Method, RoutePolicy } from "../../core/policy.ts";

export type Routed =
  | { kind: "guarded"; policy: RoutePolicy; path: string; search: string }
  /** No route's business. */
  | { kind: "pass"; path: string; search: string }
  | { kind: "refused" };

export type Matcher = (method: string, target: TargetReading) => Routed;

/** Compiles the routes once. First match wins. */
export function compileRoutes(routes: readonly RoutePolicy[]): Matcher {
  const compiled = routes.map((policy) => ({
    policy,
    methods: new Set<string>(policy.methods satisfies readonly Method[]),
    matches: pathTest(policy.match),
  }));
  const find = (method: string, path: string): RoutePolicy | null =>
    compiled.find((route) => route.methods.has(method) && route.matches(path))?.policy ?? null;

  return (method, target) => {
    if (target.kind === "refused") return target;
    const { path, search } = target;
    const policy = find(method, path);
    // Further on, encoded characters may be read as what they stand for: a target that would then fall under another route has
    // two readings.
    for (const reading of otherReadings(path)) {
      if (hasDotSegment(reading) || find(method, reading) !== policy) return { kind: "refused" };
    }
    if (policy === null || policy.key === "off") return { kind: "pass", path, search };
    return { kind: "guarded", policy, path, search };
  };
}

function otherReadings(path: string): Iterable<string> {
  if (!path.includes("%")) return [];
  const plain = unreservedReading(path);
  const readings = new Set([plain, slashReading(path) ?? path, slashReading(plain) ?? plain]);
  readings.delete(path);
  return readings;
}

function pathTest(match: string): (path: string) => boolean {
  if (match === "/*") return () => true;
  const pattern = new URLPattern({ pathname: match });
  return (path) => pattern.test({ pathname: path });
}

function hasDotSegment(path: string): boolean {
  return /(^|\/)\.{1,2}(\/|$)/.test(path);
}
