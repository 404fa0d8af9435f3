/** Faults that let an operation run twice, or its key go free too early. */
const EXECUTE = "src/key/execute.ts";
const OUTCOME = "src/core/http/outcome.ts";

export const RUNNING = [
  {
    name: "an unknown outcome runs again",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: `(record.state === "unknown" && record.terms.onCrash === "retry")`,
        to: `record.state === "unknown"`,
      },
    ],
  },
  {
    name: "a lapsed lease frees the key",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: `return isTruth ? record : toUnknown(record, "lease-over", t, now);`,
        to: `return isTruth ? record : ({ ...record, state: "released", t, releasedAt: t, evidence: "never-dispatched" } as KeyRecord);`,
      },
    ],
  },
  {
    name: "a restart frees the key",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: `isOrphan ? toUnknown(record, "object-restarted", t, now) : record`,
        to: `isOrphan ? ({ ...record, state: "released", t, releasedAt: t, evidence: "never-dispatched" } as KeyRecord) : record`,
      },
    ],
  },
  {
    name: "a lost connection frees the key",
    layer: "key",
    changes: [
      {
        file: EXECUTE,
        from: `    case "lost":\n      return reportLost(run, came.reason);`,
        to: `    case "lost":\n      return releaseUnsent(run);`,
      },
    ],
  },
  {
    name: "an error that calls itself retryable is sent again",
    layer: "origin",
    changes: [
      {
        file: "src/origin/dispatch.ts",
        from: "      response = await send(originUrl(address, request.target), init);\n    } catch {",
        to: "      response = await send(originUrl(address, request.target), init).catch(() => send(originUrl(address, request.target), init));\n    } catch {",
      },
    ],
  },
  {
    name: "any 5xx means that nothing was done",
    layer: "core",
    changes: [
      {
        file: OUTCOME,
        from: `if (NEVER_SENT.has(status)) return`,
        to: `if (NEVER_SENT.has(status) || status >= 500) return`,
      },
    ],
  },
  {
    name: "what the path says is taken for the origin's answer",
    layer: "core",
    changes: [
      { file: OUTCOME, from: "if (PATH_SPEAKING.has(status))", to: "if (PATH_SPEAKING.has(-status))" },
    ],
  },
  {
    name: "a redirect is followed",
    layer: "origin",
    changes: [{ file: "src/origin/dispatch.ts", from: `redirect: "manual"`, to: `redirect: "follow"` }],
  },
  {
    name: "the origin's host is taken from a field of the request",
    layer: "origin",
    changes: [
      {
        file: "src/origin/dispatch.ts",
        from: "response = await send(originUrl(address, request.target), init);",
        to: `const named = request.headers.find(([name]) => name.toLowerCase() === "x-forwarded-host")?.[1];
      response = await send(originUrl(address, request.target).replace(/[/][/][^/]*/, (host) => (named === undefined ? host : "//" + named)), init);`,
      },
    ],
  },
  {
    name: "a probe's redirect is followed",
    layer: "origin",
    changes: [
      {
        file: "src/origin/probe.ts",
        from: `const init = { method, headers, redirect: "manual", cache`,
        to: `const init = { method, headers, redirect: "follow", cache`,
      },
    ],
  },
  {
    name: "evidence needs no mac",
    layer: "origin",
    changes: [
      {
        file: "src/origin/evidence.ts",
        from: `return crypto.subtle.timingSafeEqual(encodeUtf8(given), wanted) ? "signed-none" : null;`,
        to: `return wanted.length > 0 ? "signed-none" : null;`,
      },
    ],
  },
  {
    name: "a probe that has seen nothing frees the key at once",
    layer: "core",
    changes: [
      {
        file: "src/core/close.ts",
        from: "if (delayMs !== null && t <= now && record.since + delayMs <= t - verdict.ageMs) {",
        to: "if (delayMs !== null) {",
      },
    ],
  },
  {
    name: "a probe's word is as good as a seal",
    layer: "key",
    changes: [
      {
        file: "src/key/inquiry/inquire.ts",
        from: `return { verdict: { kind: "none", sealed: false, ageMs }, rows: [] };`,
        to: `return { verdict: { kind: "none", sealed: true, ageMs }, rows: [] };`,
      },
    ],
  },
  {
    name: "every attempt has an origin key of its own",
    layer: "gateway",
    changes: [
      {
        file: "src/gateway/admission/operation.ts",
        from: "await keyring.originKey(ticket.name)",
        to: "await keyring.originKey(crypto.randomUUID())",
      },
    ],
  },
  {
    name: "a cut answer counts as whole",
    layer: "origin",
    changes: [
      {
        file: "src/origin/read-body.ts",
        from: `  } catch {\n    return { kind: "broken" };`,
        to: `  } catch {\n    return { kind: "whole", bytes: new Uint8Array() };`,
      },
    ],
  },
];
