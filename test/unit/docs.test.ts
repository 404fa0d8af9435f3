// Aim: what the documents say of the code is what the code has. UPDATE_README=1 writes the tables anew.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { listTables } from "../../src/config/settings.ts";
import { CHECK_ORDER, explainProblem, problem, SLUGS } from "../../src/core/problem.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const README = join(ROOT, "README.md");
const readme = readFileSync(README, "utf8");

/** Slugs that are answered with `Retry-After`. */
const WITH_RETRY_AFTER = new Set([
  "quota-exceeded",
  "store-unavailable",
  "in-flight",
  "outcome-unknown",
  "claim-lost",
]);

function problemsTable(): string {
  const rows = CHECK_ORDER.map((slug) => {
    const { title, retry } = explainProblem(slug);
    const status =
      slug === "outcome-unknown"
        ? "409; 502 or 504 to the caller whose own try it was"
        : problem(slug).status;
    const after = WITH_RETRY_AFTER.has(slug) ? " + Retry-After" : "";
    return `| \`${slug}\` | ${status}${after} | \`${problem(slug).mark}\` | \`${retry}\` | ${title} |`;
  });
  const head = "| slug | status | `Idempotency-Status` | `retry` | means |\n| --- | --- | --- | --- | --- |";
  return `${head}\n${rows.join("\n")}`;
}

function otherProblemsTable(): string {
  const rows = SLUGS.filter((slug) => !CHECK_ORDER.some((checked) => checked === slug)).map((slug) => {
    const { title, retry } = explainProblem(slug);
    return `| \`${slug}\` | ${problem(slug).status} | \`${retry}\` | ${title} |`;
  });
  return `| slug | status | \`retry\` | means |\n| --- | --- | --- | --- |\n${rows.join("\n")}`;
}

const documents = ["README.md", "src/README.md", "test/README.md", "CHANGELOG.md"];

describe("wrangler.toml", () => {
  it("has the name that the ledger has by default, or another one for the ledger", () => {
    const settings = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const wiring = readFileSync(join(ROOT, "src/wiring.ts"), "utf8");
    const name = /^name = "(.+)"$/m.exec(settings)?.[1];
    const fallback = /^const WORKER_NAME = "(.+)";$/m.exec(wiring)?.[1];

    expect(name).toMatch(/^[\w-]+$/);
    if (!/^LEDGER_NAME = /m.test(settings)) expect(fallback).toBe(name);
  });
});

describe("the README", () => {
  const tables = [
    ...listTables(),
    ["problems", problemsTable()] as const,
    ["other-problems", otherProblemsTable()] as const,
  ];

  it.each(tables)("has the table of %s as it is written from the code", (name, table) => {
    const block = new RegExp(`(<!-- ${name} -->)([^]*?)(<!-- /${name} -->)`);
    if (process.env.UPDATE_README === "1") {
      const text = readFileSync(README, "utf8");
      writeFileSync(
        README,
        text.replace(block, (_, open, __, close) => `${open}\n${table}\n${close}`),
      );
    }

    expect(block.exec(readFileSync(README, "utf8"))?.[2]?.trim()).toBe(table);
  });

  it("names a test that exists for every promise", () => {
    const named = [...readme.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = ""]) => path);

    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
    const named = [...readme.matchAll(/npm (?:run )?(start|test|deploy|bench|chaos|simulate)\b/g)].map(
      ([, name = ""]) => name,
    );

    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

/** Names of log lines, as the code reports them. */
function listEvents(): string[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true }).map(String);
  const product = files.filter((file) => file.endsWith(".ts") && !file.startsWith("demo/"));
  const texts = product.map((file) => readFileSync(join(ROOT, "src", file), "utf8"));
  return texts.flatMap((text) =>
    [...text.matchAll(/report\(\s*"([a-z-]+)",\s*\{/g)].map(([, name = ""]) => name),
  );
}

describe("the table of log lines", () => {
  it("has every line that the code writes, and no other", () => {
    const [, table = ""] = readFileSync(README, "utf8").split("**Log lines.**");
    const rows = table.split("**Rotate.**")[0]?.matchAll(/^\| (.*?) \| /gm) ?? [];
    const named = [...rows].slice(1).flatMap(([, cell = ""]) => [...cell.matchAll(/`([a-z-]+)`/g)]);
    const inTable = named.map(([, name = ""]) => name);

    expect(inTable.toSorted()).toEqual([...new Set(listEvents())].toSorted());
  });
});

describe("documents", () => {
  it.each(documents)("%s links only to what is there", (document) => {
    const text = readFileSync(join(ROOT, document), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = ""]) => path);

    expect(links.filter((path) => !existsSync(join(ROOT, dirname(document), path)))).toEqual([]);
  });

  it("src/README.md names only files that exist", () => {
    const text = readFileSync(join(ROOT, "src/README.md"), "utf8");
    const files = readdirSync(join(ROOT, "src"), { recursive: true }).map(String);
    const named = [...text.matchAll(/(?<![.\w/-])([\w/-]+\.ts)\b/g)].map(([, path = ""]) => path);
    const missing = named.filter(
      (path) =>
        !path.startsWith("test/") && !files.some((file) => file === path || file.endsWith(`/${path}`)),
    );

    expect(missing).toEqual([]);
  });

  it("test/README.md names only tests that exist", () => {
    const text = readFileSync(join(ROOT, "test/README.md"), "utf8");
    const files = readdirSync(join(ROOT, "test"), { recursive: true }).map(String);
    const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = ""]) => path);

    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((path) => !files.some((file) => `/${file}`.endsWith(`/${path}`)))).toEqual([]);
  });

  it("decisions are numbered without a gap", () => {
    const numbers = readdirSync(join(ROOT, "src/docs/decisions")).map((name) => Number(name.slice(0, 4)));

    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, i) => i + 1));
  });
});
