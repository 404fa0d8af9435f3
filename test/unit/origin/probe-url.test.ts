// Aim: a question goes below the origin's own address, whatever is put into its template.
import { describe, expect, it } from "vitest";
import type { OriginAddress } from "../../../src/core/policy.ts";
import { probeUrl } from "../../../src/origin/probe.ts";

const ROOT: OriginAddress = { kind: "url", base: "https://api.example:8443", prefix: "" };
const BELOW: OriginAddress = { kind: "url", base: "https://api.example", prefix: "/v1" };
const BOUND: OriginAddress = { kind: "binding", prefix: "/v1" };
const ATTEMPT = { name: "", effect: "e/1?#", n: 12 };

const make = (address: OriginAddress, template: string): string | null =>
  probeUrl(address, template, ATTEMPT, "name.tag");

describe("the address of a question", () => {
  it.each([
    [ROOT, "/effects/{effect_id}", "https://api.example:8443/effects/e%2F1%3F%23"],
    [BELOW, "/effects?a={attempt}&o={operation_id}", "https://api.example/v1/effects?a=12&o=name.tag"],
    [BOUND, "/{effect_id}/{effect_id}/void", "https://origin/v1/e%2F1%3F%23/e%2F1%3F%23/void"],
    [BELOW, "/@evil.example/", "https://api.example/v1/@evil.example/"],
    [ROOT, "//evil.example/x", "https://api.example:8443//evil.example/x"],
    [ROOT, "/..//evil.example", "https://api.example:8443//evil.example"],
  ])("%j with %s", (address, template, expected) => {
    expect(make(address, template)).toBe(expected);
  });

  it.each([
    [BELOW, "/../secret"],
    [BELOW, "/%2e%2e/secret"],
    [BELOW, "/a/../../../v2/x"],
    [ROOT, "@evil.example/x"],
    [ROOT, "1/x"],
    [BELOW, ".evil.example/x"],
  ])("%j with %s leads elsewhere and is none", (address, template) => {
    expect(make(address, template)).toBeNull();
  });
});
