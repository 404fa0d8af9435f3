// Aim: the rules between rooms hold. Method: reads the source tree as text, without running any of it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

const LINES_MAX = 300;
const TEST_LINES_MAX = 350;
const FUNCTION_LINES_MAX = 60;
const ROOM_FILES_MAX = 12;

/** Rooms that may not import each other; `worker.ts` and `wiring.ts` bring them together. */
const SHELLS = [
  "config",
  "gateway",
  "key",
  "ledger",
  "operator",
  "origin",
  "quota",
  "reconcile",
  "verify",
  "demo",
];

type Source = { path: string; text: string; lines: string[] };

function readTree(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const text = readFileSync(path, "utf8");
      return { path: relative(ROOT, path), text, lines: text.split("\n") };
    });
}

const sources = readTree("src");
const everything = [...sources, ...readTree("test")];

/** Paths of the project's own files that a file imports. */
function importsOf(source: Source): string[] {
  const found = source.text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map(([, path = ""]) => relative(ROOT, resolve(ROOT, dirname(source.path), path)));
}

function packagesOf(source: Source): string[] {
  return [...source.text.matchAll(/from\s+"([^."][^"]*)"/g)].map(([, name = ""]) => name);
}

function roomOf(path: string): string {
  const [top, room = "", ...rest] = path.split("/");
  return top === "src" && rest.length > 0 ? room : "";
}

/** Code of a file without its comments. */
function codeOf(source: Source): string {
  return source.text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

function offenders(where: readonly Source[], isAllowed: (path: string) => boolean, banned: RegExp): string[] {
  return where
    .filter((source) => !isAllowed(source.path) && banned.test(codeOf(source)))
    .map(({ path }) => path);
}

describe("imports", () => {
  it("find the files they name", () => {
    const missing = sources.flatMap((s) => importsOf(s).filter((path) => !existsSync(join(ROOT, path))));

    expect(missing).toEqual([]);
  });

  it("of core stay in core", () => {
    const core = sources.filter(({ path }) => roomOf(path) === "core");
    const outside = core.flatMap((s) => importsOf(s).filter((path) => roomOf(path) !== "core"));
    const packages = new Set(core.flatMap(packagesOf));

    expect(core.length).toBeGreaterThan(10);
    expect(outside).toEqual([]);
    expect([...packages]).toEqual(["structured-headers"]);
  });

  it("of a shell never reach another shell", () => {
    const crossings = sources.flatMap((s) => {
      const room = roomOf(s.path);
      if (!SHELLS.includes(room)) return [];
      return importsOf(s)
        .filter((path) => SHELLS.includes(roomOf(path)) && roomOf(path) !== room)
        .map((path) => `${s.path} → ${path}`);
    });

    expect(crossings).toEqual([]);
  });

  it("reach every file of src from the entry points", () => {
    const entries = ["src/worker.ts", "src/index.ts", "src/demo/start.mjs", "src/verify/oncegate.mjs"];
    const reached = new Set(entries);
    for (const path of reached) {
      const source = sources.find((candidate) => candidate.path === path);
      for (const imported of source === undefined ? [] : importsOf(source)) reached.add(imported);
    }
    const dead = sources
      .map(({ path }) => path)
      .filter((path) => !reached.has(path) && !path.endsWith(".d.mts"));

    expect(dead).toEqual([]);
  });
});

describe("the package's face", () => {
  it("has every class that wrangler.toml binds", () => {
    const bound = readFileSync(join(ROOT, "wrangler.toml"), "utf8").matchAll(/^class_name = "(\w+)"/gm);
    const face = sources.find(({ path }) => path === "src/index.ts")?.text ?? "";
    const missing = [...bound].filter(([, name]) => !new RegExp(`^export .*\\b${name}\\b`, "m").test(face));

    expect(missing).toEqual([]);
  });
});

describe("one home each", () => {
  const rows: [what: string, banned: RegExp, home: RegExp][] = [
    ["log lines", /\bconsole\./, /^src\/(report\.ts|demo\/)/],
    [
      "SQL",
      /\b(SELECT|INSERT|UPDATE|DELETE FROM|CREATE TABLE)\b/,
      /^src\/ledger\/(d1|d1-[a-z]+|shard\/store)\.ts|^src\/verify\/sources\/(d1|dump)\.mjs/,
    ],
    [
      "storage",
      /\bstorage\.(kv|sql|setAlarm|deleteAll|transactionSync)\b/,
      /^src\/(key\/storage\/store|ledger\/shard\/store|quota\/quota-object)\.ts/,
    ],
    [
      "the outbound fetch",
      /(?<![.\w])fetch\(/,
      /^src\/(wiring|gateway\/authorize|worker)\.ts|^src\/key\/key-object\.ts|^src\/(demo|verify\/sources)\//,
    ],
    [
      "problem texts and statuses",
      /status: [45]\d\d\b/,
      /^src\/core\/(problem|(effect|operator|reconcile)\/problems)\.ts|^src\/demo\//,
    ],
  ];

  it.each(rows)("%s", (_what, banned, home) => {
    expect(offenders(sources, (path) => home.test(path), banned)).toEqual([]);
    expect(sources.some(({ path, text }) => home.test(path) && banned.test(text))).toBe(true);
  });
});

describe("core", () => {
  const rows: [what: string, banned: RegExp][] = [
    ["clock", /\bDate\.now\b|\bnew Date\b|\bperformance\b/],
    ["random numbers", /\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b/],
    ["timers", /\bset(Timeout|Interval)\b|\bscheduler\b/],
    ["network", /(?<![.\w])fetch\(|\bnew (Response|Request)\b/],
    ["environment", /\bprocess\b|\benv\b/],
  ];

  it.each(rows)("has no %s", (_what, banned) => {
    const core = sources.filter(({ path }) => roomOf(path) === "core");

    expect(offenders(core, () => false, banned)).toEqual([]);
  });
});

describe("the source", () => {
  it("has no state at module level that a request writes, but the wiring's memory", () => {
    const written = sources.filter(({ path }) => path !== "src/wiring.ts" && path !== "src/worker.ts");
    const found = written.filter((s) =>
      /^(export )?(let|var) |^(export )?const \w+ = new (Map|Set|WeakMap)[<(]\w*>?\(\)/m.test(s.text),
    );

    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it(`keeps files under ${LINES_MAX} lines`, () => {
    const long = everything.filter(({ path, lines }) => {
      return lines.length > (path.startsWith("test/") ? TEST_LINES_MAX : LINES_MAX) + 1;
    });

    expect(long.map(({ path, lines }) => `${path}: ${lines.length}`)).toEqual([]);
  });

  it(`keeps functions under ${FUNCTION_LINES_MAX} lines`, () => {
    expect(sources.flatMap(longFunctions)).toEqual([]);
  });

  it(`keeps rooms under ${ROOM_FILES_MAX + 1} files`, () => {
    const sizes = Map.groupBy(sources, ({ path }) => dirname(path));
    const large = [...sizes].filter(([, files]) => files.length > ROOM_FILES_MAX);

    expect(large.map(([room, files]) => `${room}: ${files.length}`)).toEqual([]);
  });

  it("has no leftovers", () => {
    const leftovers = everything.filter(
      ({ path, text }) => !path.endsWith("tidy.test.ts") && /\b(TODO|FIXME|XXX|HACK)\b/.test(text),
    );

    expect(leftovers.map(({ path }) => path)).toEqual([]);
  });

  it("uses the glossary's words", () => {
    const banned = /\b(upstream|backend|rollback|cacheHit|cleanup|dedupe[dr]?)\b/i;
    const found = sources.filter(({ text }) => banned.test(text));

    expect(found.map(({ path }) => path)).toEqual([]);
  });
});

/** Functions and methods are found by their first line and end at the first line that closes with the same indent. */
function longFunctions({ path, lines }: Source): string[] {
  return lines.flatMap((line, start) => {
    const opening = /^(\s*)(export )?(async )?(function\b|(override |async |static |#)*\w+\(.*\{$)/.exec(
      line,
    );
    if (opening === null || /^\s*(if|for|while|switch|describe|return)\b/.test(line)) return [];
    const end = lines.findIndex((closing, i) => i > start && closing.startsWith(`${opening[1]}}`));
    const length = end - start + 1;
    return length > FUNCTION_LINES_MAX ? [`${path}:${start + 1} has ${length} lines`] : [];
  });
}
