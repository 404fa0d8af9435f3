// Aim: the origin that a start names is the one the gateway gets. Method: rows; real files read by wrangler itself.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import {
  DEMO_ROUTES,
  findOrigin,
  hasRoutes,
  readFiles,
  readSettings,
  type Settings,
} from "../../src/demo/settings.mjs";

const FILE = "wrangler.toml";
const NOTHING: Settings = { kind: "read", file: FILE, services: [], vars: {} };
const IN_CONFIG: Settings = { ...NOTHING, vars: { ORIGIN_URL: { from: "config", value: "http://config" } } };
const IN_SECRETS: Settings = {
  ...NOTHING,
  vars: { ORIGIN_URL: { from: "secrets", value: "http://secrets" } },
};
const BOUND: Settings = { ...IN_CONFIG, services: [{ binding: "ORIGIN", service: "payments-api" }] };
const OTHER: Settings = { ...NOTHING, services: [{ binding: "LOGS", service: "logs" }] };
const GIVEN = ["--var", "ORIGIN_URL:http://given"];

describe("the origin", () => {
  const rows: [what: string, args: string[], settings: Settings, origin: ReturnType<typeof findOrigin>][] = [
    ["is none", [], NOTHING, { kind: "none" }],
    ["is none beside another binding", [], OTHER, { kind: "none" }],
    ["of wrangler.toml", [], IN_CONFIG, { kind: "url", url: "http://config", from: FILE }],
    ["of .dev.vars", [], IN_SECRETS, { kind: "url", url: "http://secrets", from: ".dev.vars" }],
    ["of --var wins over a file's", GIVEN, IN_SECRETS, { kind: "url", url: "http://given", from: "--var" }],
    ["that is bound wins over URLs", GIVEN, BOUND, { kind: "binding", service: "payments-api", from: FILE }],
  ];

  it.each(rows)("%s", (_what, args, settings, origin) => {
    expect(findOrigin(args, settings)).toEqual(origin);
  });
});

describe("the demo's routes", () => {
  const ROUTED: Settings = { ...NOTHING, vars: { ROUTES: { from: "config", value: [] } } };

  it.each<[string, string[], Settings, boolean]>([
    ["are used where there are none", [], NOTHING, false],
    ["are used beside other settings", GIVEN, IN_SECRETS, false],
    ["give way to those of a file", [], ROUTED, true],
    ["give way to those of --var", ["--var", "ROUTES:[]"], NOTHING, true],
  ])("%s", (_what, args, settings, isOwn) => {
    expect(hasRoutes(args, settings)).toBe(isOwn);
  });

  it("are sound", () => {
    const key = Buffer.alloc(32, 1).toString("base64");
    const env = { NAMING_KEY: key, SEALING_KEY: key, ORIGIN_URL: "http://127.0.0.1:1" };
    const loaded = loadConfig({ ...env, ROUTES: JSON.stringify(DEMO_ROUTES) }, "demo");

    expect(loaded.kind === "misconfigured" ? loaded.mistakes : []).toEqual([]);
  });
});

describe("settings", () => {
  type Read = typeof readSettings;
  async function readAt(files: Record<string, string>, args: string[], read: Read = readFiles) {
    const folder = await mkdtemp(join(tmpdir(), "settings-"));
    try {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      return await read(["--config", join(folder, FILE), ...args]);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  const config = `name = "x"
vars = { ORIGIN_URL = "http://config", PREFIX = "/own" }
services = [{ binding = "ORIGIN", service = "payments-api" }]
[env.test]
vars = { ORIGIN_URL = "http://test" }
`;
  const url = (from: string, value: string) => ({ ORIGIN_URL: { from, value } });
  const prefix = { PREFIX: { from: "config", value: "/own" } };
  const services = [{ binding: "ORIGIN", service: "payments-api" }];
  const own = { [FILE]: config, ".dev.vars": `ORIGIN_URL="http://secrets"\nNAMING_KEY="secret"\n` };

  it.each([
    ["are those of .dev.vars, then of wrangler.toml", own, url("secrets", "http://secrets")],
    ["are those of wrangler.toml alone", { [FILE]: config }, url("config", "http://config")],
  ])("%s", async (_what, files, origin) => {
    const vars = { ...origin, ...prefix };

    expect(await readAt(files, [])).toEqual({ kind: "read", file: FILE, services, vars });
  });

  it("are those of the environment that is asked for, read in a thread too", async () => {
    const args = ["--env", "test"];
    const vars = url("config", "http://test");
    const read = { kind: "read", file: FILE, services: [], vars };

    expect(await readAt({ [FILE]: config }, args)).toEqual(read);
    expect(await readAt({ [FILE]: config }, args, readSettings)).toEqual(read);
  });

  it("that cannot be read are said to be so", async () => {
    const read = await readAt({ [FILE]: "a = = 3" }, [], readSettings);

    expect(read).toEqual({ kind: "failed", message: expect.stringContaining("TOML") });
  });
});
