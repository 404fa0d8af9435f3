import { createHash } from "node:crypto";
import { copyFile, mkdir } from "node:fs/promises";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { ROUTES } from "./test/worker/support/routes.ts";

/** A key of 32 equal bytes, so that a run on any machine stores the same names. */
const fixedKey = (byte: number) => Buffer.alloc(32, byte).toString("base64");

/** Operators `op1` and `op2` may do all, `reader` may only read. Their tokens are `op1.secret-of-op1` and so on. */
const operators = [
  { id: "op1", roles: ["read", "resolve"] },
  { id: "op2", roles: ["read", "resolve"] },
  { id: "reader", roles: ["read"] },
].map(({ id, roles }) => ({
  id,
  sha256: createHash("sha256").update(`secret-of-${id}`).digest("hex"),
  roles,
}));

/** A copy of `wrangler.toml` that has no `.dev.vars` beside it: what a start has left there is no business of tests. */
async function copySettings(): Promise<string> {
  const folder = "./.wrangler/tests";
  await mkdir(folder, { recursive: true });
  await copyFile("./wrangler.toml", `${folder}/wrangler.toml`);
  return `${folder}/wrangler.toml`;
}

// A test that passes at the second try has found something: nothing is retried, and no test runs alone by mistake.
const strict = { retry: 0, allowOnly: false };

/** A layer that runs in Node. `order`: layers of one number run together, lower ones first. */
const nodeLayer = (
  name: string,
  folders: string[],
  order: number,
  timeoutMs: number,
  maxWorkers: number,
) => ({
  test: {
    ...strict,
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    environment: "node",
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    maxWorkers,
    sequence: { groupOrder: order },
  },
});

export default defineConfig(async () => ({
  test: {
    projects: [
      nodeLayer("unit", ["unit"], 0, 20_000, 2),
      nodeLayer("model", ["model", "simulation", "exhaustive", "fuzz"], 0, 120_000, 2),
      {
        plugins: [
          cloudflareTest({
            verbose: false,
            main: "./src/worker.ts",
            wrangler: { configPath: await copySettings() },
            miniflare: {
              bindings: {
                ORIGIN_URL: "https://origin.example",
                NAMING_KEY: fixedKey(1),
                SEALING_KEY: fixedKey(2),
                ORIGIN_EVIDENCE_KEY: fixedKey(3),
                OPERATOR_TOKENS: JSON.stringify(operators),
                JWT_SECRET: "a secret of more than thirty-two characters",
                ROUTES: JSON.stringify(ROUTES),
                TEST_MIGRATIONS: await readD1Migrations("./src/ledger/migrations"),
              },
            },
          }),
        ],
        test: {
          ...strict,
          name: "worker",
          include: ["test/worker/**/*.test.ts"],
          setupFiles: ["./test/worker/setup.ts"],
          testTimeout: 15_000,
          hookTimeout: 30_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      // Whole processes on two cores: one file at a time, after everything else.
      nodeLayer("blackbox", ["blackbox"], 2, 60_000, 1),
      nodeLayer("chaos", ["chaos"], 3, 120_000, 1),
    ],
  },
}));
