// Aim: the whole protocol keeps its promises under faults, and this would be noticed if it did not. Method: seeded runs of the product's code on
// virtual time in processes of their own, judged by what clients, origin, storage and ledger show; then the same with faults put in.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SHORT, SHORT_MUTANTS } from "./short.mjs";

const RUN = join(import.meta.dirname, "run.mjs");
/** Two quiet cores take about two minutes; three times as slow a machine, with other tests beside this one, comes to its end too. */
const TIMEOUT_MS = 900_000;

type Ran = { code: number | null; text: string };

function simulate(...options: readonly string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [RUN, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        text += String(chunk);
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, text }));
  });
}

describe("the simulation", () => {
  it(
    `finds nothing wrong in ${SHORT.histories} histories, and has been through every fault`,
    async () => {
      const { code, text } = await simulate(
        "--histories",
        String(SHORT.histories),
        "--seed",
        String(SHORT.seed),
      );
      console.info(text);

      expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining("0 violations") });
    },
    TIMEOUT_MS,
  );

  it("goes the same way twice from one seed", async () => {
    const options = ["--histories", "60", "--seed", "7"];
    const [one, two] = await Promise.all([
      simulate(...options, "--jobs", "1"),
      simulate(...options, "--jobs", "1"),
    ]);
    const digestOf = ({ text }: Ran) => /digest \d+/.exec(text)?.[0];

    expect(digestOf(one)).toMatch(/digest [1-9]/);
    expect(digestOf(two)).toBe(digestOf(one));
  });

  it("prints every event of one run, and the same ones twice", async () => {
    const options = ["--histories", "1", "--seed", "12", "--trace"];
    const [one, two] = await Promise.all([simulate(...options), simulate(...options)]);

    expect(one.text.split("\n").length).toBeGreaterThan(50);
    expect(two.text).toBe(one.text);
  });

  it("makes a failing run small, and what is left still fails the same way", async () => {
    const mutant = ["--mutant", "an unknown outcome runs again", "--histories", "1", "--seed", "9"];
    const small = await simulate(...mutant, "--shrink");
    const without = /--without "([^"]*)"/.exec(small.text)?.[1] ?? "";
    const clients = /--clients (\d)/.exec(small.text)?.[1] ?? "";
    const ledger = /--ledger ([\d.]+)/.exec(small.text)?.[1] ?? "";
    const factor = /--factor ([\d.]+)/.exec(small.text)?.[1] ?? "";
    const again = await simulate(
      ...mutant,
      ...["--without", without, "--clients", clients, "--ledger", ledger, "--factor", factor],
    );

    expect(without.split(",").length).toBeGreaterThan(30);
    expect(again).toEqual({ code: 1, text: expect.stringContaining("I1: ") });
  });
});

describe("a fault that is put in", () => {
  it("makes a run fail: the canary", async () => {
    const { code, text } = await simulate(
      "--histories",
      "50",
      "--seed",
      "1",
      "--mutant",
      "any 5xx means that nothing was done",
    );

    expect(code).toBe(1);
    expect(text).toMatch(/seed \d+: I\d+: /);
  });

  it(
    `is found within ${SHORT_MUTANTS.most} histories, each of ${SHORT_MUTANTS.names.length}`,
    async () => {
      const { seed, most, names } = SHORT_MUTANTS;
      const options = [
        "--mutants",
        "--seed",
        String(seed),
        "--histories",
        String(most),
        "--only",
        names.join(","),
      ];
      const { code, text } = await simulate(...options);
      console.info(text);

      expect({ code, text }).toEqual({
        code: 0,
        text: expect.stringContaining(`${names.length} of ${names.length} mutants dead`),
      });
    },
    TIMEOUT_MS,
  );
});
