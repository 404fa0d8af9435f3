// Aim: the verifier is a second opinion. Method: reads its source and what it imports as text.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const ROOM = resolve(import.meta.dirname, "../../../src/verify");

const files = readdirSync(ROOM, { recursive: true, encoding: "utf8" }).filter((name) =>
  /\.(mjs|ts)$/.test(name),
);

it("imports nothing but its own files and Node's modules", () => {
  const outside = files.flatMap((name) => {
    const file = join(ROOM, name);
    const imports = readFileSync(file, "utf8").matchAll(/\b(?:from\s+|import\s+|import\()["']([^"']+)["']/g);
    return [...imports]
      .map(([, target = ""]) => target)
      .filter((target) => !target.startsWith("node:") && !isInside(resolve(dirname(file), target), target))
      .map((target) => `${name}: ${target}`);
  });

  expect(files.length).toBeGreaterThan(15);
  expect(outside).toEqual([]);
});

function isInside(path: string, target: string): boolean {
  return target.startsWith(".") && !relative(ROOM, path).startsWith("..");
}
