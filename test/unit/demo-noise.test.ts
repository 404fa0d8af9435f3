// Aim: what wrangler says of itself is left out, what the Worker or an error says never is. Method: its own lines.
import { describe, expect, it } from "vitest";
import { dropNoise, isNoise } from "../../src/demo/noise.mjs";

describe("a line", () => {
  const noise = [
    "",
    "  ",
    "[wrangler:info] GET /payments 200 OK (5ms)",
    "⎔ Starting local server...",
    "Using secrets defined in .dev.vars",
    "Your Worker has access to the following bindings:",
    "Binding                                        Resource                     Mode",
    "env.KEYS (KeyObject)                           Durable Object               local",
    "env.ORIGIN (payments-api)                      Worker                       local [not connected]",
    "env.ORIGIN (payments-api)                      Worker                       local [connected]",
    "env.VERSION                                    Worker Version Metadata      local",
    "Service bindings, Durable Object bindings, and Tail consumers connect to other Wrangler processes",
    "  To manually trigger a scheduled event, run:",
    '    curl "http://127.0.0.1:8787/cdn-cgi/local/scheduled"',
    "  For more details, see https://developers.cloudflare.com/workers/configuration/cron-triggers/#test-cron-triggers-locally",
    "Resource location: local ",
    "Use --remote if you want to access the remote instance.",
    "  If you think this is a bug, please open an issue at: https://bugs.example",
  ];

  it.each(noise)("is left out: %j", (line) => {
    expect(isNoise(line)).toBe(true);
  });

  const words = [
    `{"event":"misconfigured","mistake":"NAMING_KEY is missing"}`,
    "✘ [ERROR] Invalid TOML document: invalid value",
    "      63 │ a = = 3",
    "[wrangler:error] The Workers runtime crashed unexpectedly and is being restarted.",
    `Worker "payments-api" not found. Make sure it is running locally.`,
  ];

  it.each(words)("is passed on: %j", (line) => {
    expect(isNoise(line)).toBe(false);
  });
});

describe("a text", () => {
  it("keeps its other lines as they are, in order", () => {
    const text = "Resource location: local \r\n\r\n✘ [ERROR] no such table\r\n    at 3:4\n\n";

    expect(dropNoise(text)).toBe("✘ [ERROR] no such table\n    at 3:4");
  });

  it("of noise alone is empty", () => {
    expect(dropNoise("\nResource location: local\n")).toBe("");
  });
});
