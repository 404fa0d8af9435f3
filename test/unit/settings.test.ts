// Aim: the list of settings and what is read are one thing (`docs.test.ts` compares the README with it).

import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { ROUTE_SETTINGS } from "../../src/config/route/route-settings.ts";
import type { Json, Setting } from "../../src/config/setting.ts";
import { listTables, SECRETS, SETTINGS } from "../../src/config/settings.ts";

const KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const MINIMAL = { ORIGIN_URL: "https://api.example", NAMING_KEY: KEY, SEALING_KEY: KEY };

/** What a table of these members needs so that it can be read at all. */
const COMPANIONS: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  "principal.headers": { from: "credential" },
  "principal.claims": { from: "jwt", jwks_url: "https://id.example/jwks", issuer: "i", audience: "a" },
  "probe.not_found": { url: "/effects/{effect_id}" },
  "probe.max_origin_delay": { url: "/effects/{effect_id}" },
};

function load(env: Readonly<Record<string, unknown>>) {
  const loaded = loadConfig({ ...MINIMAL, ...env }, "gateway");
  if (loaded.kind === "misconfigured") throw new Error(loaded.mistakes.join("\n"));
  return loaded.config;
}

function listDefaults(settings: Readonly<Record<string, Setting>>): [string, Json][] {
  return Object.entries(settings).flatMap(([name, { fallback }]): [string, Json][] =>
    fallback.kind === "given" ? [[name, fallback.value]] : [],
  );
}

describe("a documented default", () => {
  it.each(listDefaults({ ...SETTINGS, ...SECRETS }))("of %s is what holds without it: %j", (name, value) => {
    expect(load({ [name]: value })).toEqual(load({}));
  });

  it.each(listDefaults(ROUTE_SETTINGS).filter(([name]) => !name.includes(".")))(
    "of a route's %s is what holds without it: %j",
    (name, value) => {
      expect(load({ ROUTES: [{ [name]: value }] })).toEqual(load({}));
    },
  );

  it.each(listDefaults(ROUTE_SETTINGS).filter(([name]) => name.includes(".")))(
    "of %s is what holds without it: %j",
    (name, value) => {
      const [table = "", member = ""] = name.split(".");
      const companions = COMPANIONS[name] ?? {};

      const given = load({ ROUTES: [{ [table]: { ...companions, [member]: value } }] });
      const absent = load({ ROUTES: [{ [table]: companions }] });

      expect(given).toEqual(absent);
    },
  );
});

describe("the list of settings", () => {
  const isRead = (env: Readonly<Record<string, unknown>>, place: string) => {
    const loaded = loadConfig({ ...MINIMAL, ...env }, "gateway");
    return loaded.kind === "misconfigured" && loaded.mistakes.some((line) => line.startsWith(place));
  };

  it.each(Object.keys({ ...SETTINGS, ...SECRETS }))("has nothing that isn't read: %s", (name) => {
    expect(isRead({ [name]: { no: "such" } }, name)).toBe(true);
  });

  it("names every field that a route may have, and no other", () => {
    const loaded = loadConfig({ ...MINIMAL, ROUTES: [{ nosuch: 1 }] }, "gateway");

    const fields = Object.keys(ROUTE_SETTINGS).filter((name) => !name.includes("."));
    expect(loaded).toMatchObject({ mistakes: [expect.stringMatching(/^ROUTES\[0\]\.nosuch is 1; /)] });
    const [line = ""] = loaded.kind === "misconfigured" ? loaded.mistakes : [];
    expect(line.split("a route: ")[1]?.split(", ").toSorted()).toEqual(fields.toSorted());
  });

  it("has one cell a column and no line break", () => {
    for (const table of listTables().values()) {
      const widths = table.split("\n").map((line) => line.split(/(?<!\\)\|/).length);
      expect(new Set(widths)).toEqual(new Set([6]));
    }
  });
});
