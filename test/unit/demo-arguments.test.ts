// Aim: a start reads its arguments as wrangler does and names a mistake in one line. Method: rows of arguments.
import { describe, expect, it } from "vitest";
import { findMistake, readOption, readOptions, readVar } from "../../src/demo/arguments.mjs";

const PORT = ["--port"];

describe("an option", () => {
  const rows: [args: string[], value: string | null][] = [
    [[], null],
    [["--port", "9000"], "9000"],
    [["--port=9000"], "9000"],
    [["--port", "9000", "--port=9001"], "9001"],
    [["--portal", "9000"], null],
    [["--port"], null],
  ];

  it.each(rows)("of %j is %j", (args, value) => {
    expect(readOption(args, PORT)).toBe(value);
  });

  it("keeps every value, under each of its names, in order", () => {
    const args = ["-c", "a.toml", "--config=b=c.toml"];

    expect(readOptions(args, ["--config", "-c"])).toEqual(["a.toml", "b=c.toml"]);
  });
});

describe("a variable", () => {
  const url = "http://127.0.0.1:9100";
  const rows: [args: string[], value: string | null][] = [
    [["--var", `ORIGIN_URL:${url}`], url],
    [[`--var=ORIGIN_URL:${url}`], url],
    [["--var", "PREFIX:/x", `ORIGIN_URL:${url}`], url],
    [["--var", "ORIGIN_URL:http://a", "--var", `ORIGIN_URL:${url}`], url],
    [["--var", "ORIGIN_URL:"], ""],
    [["--define", `ORIGIN_URL:${url}`], null],
    [["--var", "MY_ORIGIN_URL:x"], null],
  ];

  it.each(rows)("of %j is %j", (args, value) => {
    expect(readVar(args, "ORIGIN_URL")).toBe(value);
  });
});

describe("arguments", () => {
  const sound = [
    [],
    ["--port", "9000", "--persist-to", "./state"],
    ["--port=9000", "--ip=127.0.0.1"],
    ["--var", "ORIGIN_URL:http://x", "LEDGER_SHARDS:1", "--live-reload"],
    ["--var=ORIGIN_URL:http://x?a=b"],
  ];

  it.each(sound.map((args) => [args]))("%j are sound", (args) => {
    expect(findMistake(args, { npm_lifecycle_event: "start" })).toBeNull();
  });

  const rows: [args: string[], mistake: string][] = [
    [["--port"], "--port needs a value: npm start -- --port 8788"],
    [["--port", "--ip", "127.0.0.1"], "--port needs a value: npm start -- --port 8788"],
    [["--port="], "--port needs a value: npm start -- --port 8788"],
    [["--ip", "127.0.0.1", "--persist-to"], "--persist-to needs a value."],
    [["--port", "0"], "--port is a number from 1 to 65535."],
    [["--port", "65536"], "--port is a number from 1 to 65535."],
    [["--port", "1e3"], "--port is a number from 1 to 65535."],
    [["--var", "ORIGIN_URL=http://x"], "--var takes NAME:value, not ORIGIN_URL=http://x"],
    [["--var", "LEDGER_SHARDS:1", "ORIGIN_URL"], "--var takes NAME:value, not ORIGIN_URL"],
    [["8899"], "8899 stands there without its option: npm start -- --port 8899"],
    [["--port", "9000", "8899"], "8899 stands there without its option: npm start -- --port 8899"],
  ];

  it.each(rows)("%j are refused: %s", (args, mistake) => {
    expect(findMistake(args, {})).toBe(mistake);
  });

  const kept: [typed: string, args: string[], env: Record<string, string>, meant: string][] = [
    ["--port 8899", ["8899"], { npm_config_port: "true" }, "--port 8899"],
    ["--port=8899", [], { npm_config_port: "8899" }, "--port 8899"],
    ["--persist-to ./state", ["./state"], { npm_config_persist_to: "true" }, "--persist-to ./state"],
    ["--port", [], { npm_config_port: "true" }, "--port VALUE"],
  ];

  it.each(kept)("that npm kept (npm start %s) are asked for again", (_typed, args, env, meant) => {
    expect(findMistake(args, { ...env, npm_lifecycle_event: "start" })).toBe(
      `Without -- before them npm keeps the arguments for itself: npm start -- ${meant}`,
    );
  });
});
