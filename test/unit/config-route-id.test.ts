// Aim: a derived route id is stable, since it is part of every scope. Method: known values, then properties.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { deriveRouteId } from "../../src/config/route/route.ts";

const KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const MINIMAL = { ORIGIN_URL: "https://api.example", NAMING_KEY: KEY, SEALING_KEY: KEY };

describe("deriveRouteId", () => {
  it.each([
    ["/*", ["POST", "PATCH"], "r-19dbe588"],
    ["/v1/ä/:id", ["PUT"], "r-v1-id-e2edf0b4"],
  ])("gives %s %j the id it has always had", (match, methods, id) => {
    expect(deriveRouteId(match, methods)).toBe(id);
  });

  it("fits an id, and takes methods in any order", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 512 }),
        fc.shuffledSubarray(["POST", "PUT", "PATCH", "DELETE"], { minLength: 1 }),
        (match, methods) => {
          const id = deriveRouteId(match, methods);

          expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
          expect(deriveRouteId(match, methods.toReversed())).toBe(id);
        },
      ),
    );
  });

  it("tells apart routes whose readable parts are the same", () => {
    const ids = ["/a/b", "/a-b", "/a/b/", "/a/:b"].map((match) => deriveRouteId(match, ["POST"]));

    expect(new Set([...ids, deriveRouteId("/a/b", ["PUT"])])).toHaveLength(5);
  });
});

describe("ids of several routes", () => {
  it("refuses an id that two routes share, beside other mistakes", () => {
    const ROUTES = [
      { match: "/a", id: "x" },
      { match: "/b" },
      { match: "/c", id: "x", window: "1" },
      { match: "/b", methods: ["PATCH", "POST"], key: "off" },
    ];

    const loaded = loadConfig({ ...MINIMAL, ROUTES }, "gateway");

    const derived = deriveRouteId("/b", ["POST", "PATCH"]);
    expect(loaded).toEqual({
      kind: "misconfigured",
      mistakes: [
        'ROUTES[2].window is "1"; allowed: a duration from "1s" to "30d"',
        'ROUTES[2].id is "x"; allowed: an id that no other route has (ROUTES[0] has "x" too)',
        "ROUTES[3].id is not given, so derived from match and methods; " +
          `allowed: an id that no other route has (ROUTES[1] has "${derived}" too)`,
      ],
    });
  });
});
