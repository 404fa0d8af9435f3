/**
 * Before every file of this layer: the database has its schema. Around every test: the product's log lines are kept for
 * the test instead of printed, and no spy and no set clock is left behind.
 */
import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import { keepLog } from "./support/log.ts";

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

beforeEach(() => keepLog());

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});
